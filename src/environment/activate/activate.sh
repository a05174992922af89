# Activates an environment that macml made, in bash, zsh, dash and their like: `. bin/activate`. `deactivate` undoes it.

# Takes one entry out of PATH, wherever it stands and whatever else came in since.
_macml_take_out() {
    _macml_rest=":${PATH-}:"
    while :; do
        case $_macml_rest in
            *":$1:"*) _macml_rest="${_macml_rest%%":$1:"*}:${_macml_rest#*":$1:"}" ;;
            *) break ;;
        esac
    done
    _macml_rest="${_macml_rest#:}"
    PATH="${_macml_rest%:}"
    unset _macml_rest
}

# An environment that is active leaves first, by its own way out where this shell knows it.
if [ -n "${VIRTUAL_ENV-}" ]; then
    if [ "$(command -v deactivate 2>/dev/null || :)" = deactivate ]; then
        deactivate nondestructive || :
    fi
    if [ -n "${VIRTUAL_ENV-}" ]; then
        _macml_take_out "$VIRTUAL_ENV/bin"
    fi
fi

deactivate() {
    if [ -n "${_MACML_ROOT-}" ]; then
        _macml_take_out "$_MACML_ROOT/bin"
        export PATH
        if [ "${VIRTUAL_ENV-}" = "$_MACML_ROOT" ]; then
            unset VIRTUAL_ENV VIRTUAL_ENV_PROMPT
        fi
        unset _MACML_ROOT
    fi
    if [ -n "${_MACML_OLD_PYTHONHOME+set}" ]; then
        PYTHONHOME="$_MACML_OLD_PYTHONHOME"
        export PYTHONHOME
        unset _MACML_OLD_PYTHONHOME
    fi
    if [ -n "${_MACML_OLD_PS1+set}" ]; then
        # A prompt that was changed since is its owner's.
        if [ "${PS1-}" = "${_MACML_NEW_PS1-}" ]; then
            PS1="$_MACML_OLD_PS1"
        fi
        unset _MACML_OLD_PS1 _MACML_NEW_PS1
    fi
    hash -r 2>/dev/null || :
    if [ "${1-}" != nondestructive ]; then
        unset -f deactivate _macml_take_out
    fi
}

_MACML_ROOT=@ROOT@
_macml_take_out "$_MACML_ROOT/bin"
PATH="$_MACML_ROOT/bin${PATH:+:$PATH}"
VIRTUAL_ENV="$_MACML_ROOT"
VIRTUAL_ENV_PROMPT=@PROMPT@
export PATH VIRTUAL_ENV VIRTUAL_ENV_PROMPT

# With it set, no virtual environment finds its own library.
if [ -n "${PYTHONHOME+set}" ]; then
    _MACML_OLD_PYTHONHOME="$PYTHONHOME"
    unset PYTHONHOME
fi

if [ -z "${VIRTUAL_ENV_DISABLE_PROMPT-}" ] && [ -n "${PS1+set}" ]; then
    _MACML_OLD_PS1="$PS1"
    _MACML_NEW_PS1=@SHOWN@"$PS1"
    PS1="$_MACML_NEW_PS1"
fi

hash -r 2>/dev/null || :
