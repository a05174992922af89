# macml's hook for zsh: eval "$(macml hook zsh)" in ~/.zshrc
_macml_hook() {
    local macml_status=$?
    emulate -L zsh
    local macml_up=. macml_new
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
        macml_new="$(@MACML@ hook zsh --apply "${_macml_seen-first}")" || macml_new=
        if [[ -n $macml_new ]]; then
            eval "$macml_new"
        fi
    fi
    typeset -g _macml_seen=
    return $macml_status
}
typeset -ga precmd_functions chpwd_functions
precmd_functions=(${precmd_functions:#_macml_hook} _macml_hook)
chpwd_functions=(${chpwd_functions:#_macml_hook} _macml_hook)
