# macml's hook for bash: eval "$(macml hook bash)" in ~/.bashrc
_macml_hook() {
    local macml_status=$? macml_up=. macml_new
    # Outside of projects nothing is started: it is enough to look for macml.toml up to the root.
    if [[ -z ${_MACML_HOOK-} ]]; then
        until [[ -e $macml_up/macml.toml || ${#macml_up} -gt 600 ]]; do
            if [[ $macml_up -ef / ]]; then
                macml_up=
                break
            fi
            macml_up=$macml_up/..
        done
    fi
    if [[ -n $macml_up && -x @MACML@ ]]; then
        macml_new="$(@MACML@ hook bash --apply "${_macml_seen-first}")" || macml_new=
        if [[ -n $macml_new ]]; then
            eval "$macml_new" || :
        fi
    fi
    _macml_seen=
    # A status that is handed on would end a shell with `set -e`.
    case $- in
        *e*) ;;
        *) return "$macml_status" ;;
    esac
}
case "$(declare -p PROMPT_COMMAND 2>/dev/null)" in
    *_macml_hook*) ;;
    'declare -a'*)
        # Before 5.1 only the first of several is run.
        if ((BASH_VERSINFO[0] > 5 || (BASH_VERSINFO[0] == 5 && BASH_VERSINFO[1] >= 1))); then
            PROMPT_COMMAND+=(_macml_hook)
        else
            PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND"
"}_macml_hook"
        fi
        ;;
    *)
        # On a line of its own it may follow whatever stands there.
        PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND"
"}_macml_hook"
        ;;
esac
