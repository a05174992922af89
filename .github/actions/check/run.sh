#!/usr/bin/env bash
# What the steps of action.yml do: `run.sh find`, `build`, `facts`, `check`. Inputs come as environment variables, outputs
# go to $GITHUB_OUTPUT. Works with the bash 3.2 of macOS too.
set -euo pipefail

# Not $GITHUB_ACTION_PATH: the same place, and it is also right where somebody calls this without GitHub.
root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd -P)

# fail MESSAGE: says it on the page of the run and ends as macml does when it could not tell.
fail() {
    local text=$1
    text=${text//'%'/%25}
    text=${text//$'\r'/%0D}
    text=${text//$'\n'/%0A}
    printf '::error title=macml check::%s\n' "$text"
    exit 2
}

# output NAME VALUE: a value of several lines could forge other outputs.
output() {
    if [[ $2 == *[$'\r\n']* ]]; then fail "\`$1\` has a line break: $2"; fi
    printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

digest=(sha256sum)
if ! type -P sha256sum >/dev/null; then digest=(shasum -a 256); fi

# Splits INPUT_ARGS into `args`: spaces, quotes and backslashes as in a shell, and nothing is expanded.
split() {
    local text=${INPUT_ARGS:-} word='' begun='' quote='' at char
    args=()
    for ((at = 0; at < ${#text}; at++)); do
        char=${text:at:1}
        case $quote$char in
        "''" | '""') quote='' ;;
        '"\')
            if [[ ${text:at+1:1} == [\"\\] ]]; then at=$((at + 1)); fi
            word+=${text:at:1}
            ;;
        \'? | \"?) word+=$char ;;
        \' | \") quote=$char begun=1 ;;
        \\)
            at=$((at + 1)) begun=1
            if ((at == ${#text})); then fail "\`args\` ends with a backslash: $text"; fi
            word+=${text:at:1}
            ;;
        [[:space:]])
            if [[ $begun ]]; then args+=("$word"); fi
            word='' begun=''
            ;;
        *) word+=$char begun=1 ;;
        esac
    done
    if [[ $quote ]]; then fail "\`args\` has a $quote that is not closed: $text"; fi
    if [[ $begun ]]; then args+=("$word"); fi
}

enter() {
    local folder=${INPUT_WORKING_DIRECTORY:-.}
    # `-` would be the folder before.
    if [[ $folder != /* ]]; then folder=./$folder; fi
    CDPATH='' cd -- "$folder" 2>/dev/null || fail "\`working-directory\` is no folder: ${INPUT_WORKING_DIRECTORY:-.}"
}

run_find() {
    local macml system sources
    case $(uname -s) in
    Linux | Darwin) ;;
    *) fail 'macml runs on Linux and macOS: choose such a runner' ;;
    esac
    if [[ ${INPUT_MACML:-} ]]; then
        macml=$INPUT_MACML
        if [[ ! -f $macml || ! -x $macml ]]; then fail "\`macml\` is no program: $macml"; fi
    else
        macml=$(type -P macml || true)
    fi
    if [[ $macml ]]; then
        # The check runs in another folder.
        if [[ $macml != /* ]]; then macml=$PWD/$macml; fi
        output macml "$macml"
        return
    fi
    # The C library too: a program that was built with a later one does not start.
    system=$(uname -s)-$(uname -m)-$(getconf GNU_LIBC_VERSION 2>/dev/null || uname -r)
    sources=$(cd "$root" && find Cargo.toml Cargo.lock src -type f -exec "${digest[@]}" {} + | LC_ALL=C sort | "${digest[@]}")
    output macml "$RUNNER_TEMP/macml/bin/macml"
    output build true
    output folder "$RUNNER_TEMP/macml/bin"
    output key "macml-program-${system// /-}-${sources:0:32}"
}

run_build() {
    # What was restored may be for another system after all.
    if "$RUNNER_TEMP/macml/bin/macml" --version 2>/dev/null; then return; fi
    if ! type -P cargo >/dev/null; then
        fail 'there is no macml on PATH and no cargo to build it with: put `- uses: dtolnay/rust-toolchain@stable` before this step, or give the path of one as `macml`'
    fi
    # From its own folder and without the project's settings: those are for the project's Rust, not for macml.
    cd "$root"
    unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS
    cargo install --locked --path . --bin macml --force --no-track \
        --root "$RUNNER_TEMP/macml" --target-dir "$RUNNER_TEMP/macml/target" ||
        fail 'macml could not be built: cargo says above why; it needs Rust 1.92 or later'
}

run_facts() {
    local folder word key
    split
    enter
    folder=$("$MACML" cache dir) || fail "\`$MACML cache dir\` failed"
    folder=$folder/facts-v1
    output folder "$folder"
    # Other locks need other wheels, and other arguments other levels of the same ones.
    key=$({
        printf '%s\0' ${args[@]+"${args[@]}"}
        for word in macml.lock ${args[@]+"${args[@]}"}; do
            word=${word#--*=}
            if [[ -f $word ]]; then "${digest[@]}" <"$word"; fi
        done
    } | "${digest[@]}")
    output key "macml-${folder##*/}-${key:0:32}"
    output earlier "macml-${folder##*/}-"
}

run_check() {
    local code=0 verdict folder
    split
    enter
    "$MACML" check --output-format github ${args[@]+"${args[@]}"} || code=$?
    case $code in
    0) verdict=yes ;;
    1) verdict=no ;;
    *) verdict=unknown ;;
    esac
    output exit-code "$code"
    output verdict "$verdict"
    folder=$("$MACML" cache dir)/facts-v1
    # Saving nothing would keep the next run from saving something.
    if [[ -d $folder && $(ls -A "$folder") ]]; then output facts true; fi
    exit "$code"
}

case ${1:-} in
find | build | facts | check) "run_$1" ;;
*) fail "run.sh knows no \`${1:-}\`" ;;
esac
