# macml's hook for fish: macml hook fish | source, in ~/.config/fish/config.fish
function _macml_hook --on-event fish_prompt --on-variable PWD
    set -l before $status
    # Outside of projects nothing is started: it is enough to look for macml.toml up to the root.
    set -l found
    if set -q _MACML_HOOK; and test -n "$_MACML_HOOK"
        set found yes
    else
        set -l up .
        for part in (string split / -- (pwd -P | string collect))
            if test -e $up/macml.toml
                set found yes
                break
            end
            set up $up/..
        end
    end
    if test -n "$found"; and test -x @MACML@
        set -l first first
        set -q _macml_seen; and set first
        @MACML@ hook fish --apply $first | source
    end
    set -g _macml_seen yes
    return $before
end
