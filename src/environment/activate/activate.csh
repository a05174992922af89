# Activates an environment that macml made, in csh and tcsh: `source bin/activate.csh`. `deactivate` undoes it.

if ( $?_macml_old_path ) deactivate nondestructive

alias deactivate 'if ( $?_macml_old_path ) setenv PATH $_macml_old_path:q; unset _macml_old_path; if ( $?_macml_old_prompt ) set prompt = $_macml_old_prompt:q; unset _macml_old_prompt; if ( $?_macml_old_pythonhome ) setenv PYTHONHOME $_macml_old_pythonhome:q; unset _macml_old_pythonhome; unsetenv VIRTUAL_ENV; unsetenv VIRTUAL_ENV_PROMPT; rehash; test "\!:*" = nondestructive || unalias deactivate'

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
