# Activates an environment that macml made, in fish: `source bin/activate.fish`. `deactivate` undoes it.

# Takes one entry out of PATH, wherever it stands and whatever else came in since.
function _macml_take_out
    set -l rest
    for entry in $PATH
        test "$entry" = "$argv[1]"; or set -a rest "$entry"
    end
    set -gx PATH $rest
end

# An environment that is active leaves first, by its own way out where this shell knows it.
if set -q VIRTUAL_ENV; and test -n "$VIRTUAL_ENV"
    if functions -q deactivate
        deactivate nondestructive
    end
    if set -q VIRTUAL_ENV
        _macml_take_out "$VIRTUAL_ENV/bin"
    end
end

function deactivate -d 'Leave the virtual environment'
    if set -q _MACML_ROOT
        _macml_take_out "$_MACML_ROOT/bin"
        if set -q VIRTUAL_ENV; and test "$VIRTUAL_ENV" = "$_MACML_ROOT"
            set -e VIRTUAL_ENV
            set -e VIRTUAL_ENV_PROMPT
        end
        set -e _MACML_ROOT
    end
    if set -q _MACML_OLD_PYTHONHOME
        set -gx PYTHONHOME "$_MACML_OLD_PYTHONHOME"
        set -e _MACML_OLD_PYTHONHOME
    end
    if functions -q _macml_old_fish_prompt
        # A prompt that was defined anew since is its owner's.
        if functions fish_prompt | string match -q '*_macml_old_fish_prompt*'
            functions -e fish_prompt
            functions -c _macml_old_fish_prompt fish_prompt
        end
        functions -e _macml_old_fish_prompt
    end
    if test "$argv[1]" != nondestructive
        functions -e deactivate _macml_take_out
    end
    return 0
end

set -g _MACML_ROOT @ROOT@
_macml_take_out "$_MACML_ROOT/bin"
set -gx PATH "$_MACML_ROOT/bin" $PATH
set -gx VIRTUAL_ENV "$_MACML_ROOT"
set -gx VIRTUAL_ENV_PROMPT @PROMPT@

# With it set, no virtual environment finds its own library.
if set -q PYTHONHOME
    set -g _MACML_OLD_PYTHONHOME "$PYTHONHOME"
    set -e PYTHONHOME
end

if not set -q VIRTUAL_ENV_DISABLE_PROMPT; or test -z "$VIRTUAL_ENV_DISABLE_PROMPT"
    if functions -q fish_prompt
        functions -c fish_prompt _macml_old_fish_prompt
        function _macml_status
            return $argv[1]
        end
        function fish_prompt
            set -l before $status
            echo -n @SHOWN@
            # The prompt may show how the last command ended.
            _macml_status $before
            _macml_old_fish_prompt
        end
    end
end
