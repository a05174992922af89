# Activates an environment that macml made, in csh and tcsh: `source bin/activate.csh`. `deactivate` undoes it.

# A command of that name may lie in PATH: only the alias of another activation is meant.
if ( $?_macml_old_path ) then
    deactivate nondestructive
endif

alias deactivate 'test $?_macml_old_path != 0 && setenv PATH $_macml_old_path:q && unset _macml_old_path; test $?_macml_old_prompt != 0 && set prompt=$_macml_old_prompt:q && unset _macml_old_prompt; test $?_macml_old_pythonhome != 0 && setenv PYTHONHOME $_macml_old_pythonhome:q && unset _macml_old_pythonhome; unsetenv VIRTUAL_ENV; unsetenv VIRTUAL_ENV_PROMPT; rehash; test "\!:*" != nondestructive && unalias deactivate'

setenv VIRTUAL_ENV @ROOT@
setenv VIRTUAL_ENV_PROMPT @PROMPT@
set _macml_old_path = $PATH:q
setenv PATH $VIRTUAL_ENV:q/bin:$PATH:q

# With it set, no virtual environment finds its own library.
if ( $?PYTHONHOME ) then
    set _macml_old_pythonhome = $PYTHONHOME:q
    unsetenv PYTHONHOME
endif

if ( ! $?VIRTUAL_ENV_DISABLE_PROMPT && $?prompt ) then
    set _macml_old_prompt = $prompt:q
    set prompt = @SHOWN@$prompt:q
endif

rehash
