//! The shell: which one, in which terminal, the variables that change what Python, frameworks and downloads do, and what the
//! shell's own files set up.

use std::path::PathBuf;

use crate::doctor::Facts;
use crate::doctor::facts::Shell;
use crate::doctor::facts::ShellFile;
use crate::doctor::facts::Variable;
use crate::sys::Env;
use crate::sys::fs;

use super::Look;
use super::redact;

/// Variables that count by how their names begin.
const PREFIXES: [&str; 10] =
    ["PYTORCH_", "KMP_", "OMP_", "MLX_", "DYLD_", "PYTHON", "CONDA_", "PIP_", "UV_", "SSL_CERT_"];

/// Those of TensorFlow: what begins with `TF_` alone is Terraform's as well, which is given secrets that way.
const TENSORFLOW: [&str; 14] = [
    "TF_CPP_",
    "TF_CUDNN_",
    "TF_DATA_",
    "TF_DETERMINISTIC_",
    "TF_DISABLE_",
    "TF_ENABLE_",
    "TF_FORCE_",
    "TF_GPU_",
    "TF_METAL_",
    "TF_NUM_",
    "TF_PLUGGABLE_",
    "TF_USE_",
    "TF_XLA_",
    "TF_MLIR_",
];

/// macml's own, last: they are told where something is set that nobody thinks of any more.
const OWN: &str = "MACML_";

/// Variables that count by their names.
const NAMES: [&str; 19] = [
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "HF_ENDPOINT",
    "HF_HOME",
    "TMPDIR",
    "ENABLE_PJRT_COMPATIBILITY",
    "DEVELOPER_DIR",
    "SYSTEM_VERSION_COMPAT",
    "MACOSX_DEPLOYMENT_TARGET",
];

/// Files that shells read, below home.
const FILES: [&str; 9] = [
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".bashrc",
    ".config/fish/config.fish",
];

/// How much of such a file is read, and how much of a variable is told.
const MOST: u64 = 256 << 10;
const LONGEST: usize = 8 << 10;

/// What stands in a line that sets something up.
const SETS_UP: [(&str, &[&str]); 5] = [
    (
        "conda",
        &[
            "conda.sh",
            "conda.fish",
            "shell.bash",
            "shell.zsh",
            "shell.fish",
            "conda activate",
            "mamba.sh",
            "mamba activate",
            "mamba shell",
        ],
    ),
    ("pyenv", &["pyenv init", "/.pyenv/", "PYENV_ROOT"]),
    ("direnv", &["direnv hook"]),
    ("macml", &["macml hook"]),
    ("homebrew", &["brew shellenv"]),
];

/// Looks at the shell.
pub(super) fn shell(look: &Look<'_>, facts: &mut Facts) {
    let text = |name: &str| look.env.get(name).map(str::to_owned);
    facts.shell = Shell {
        login: text("SHELL"),
        terminal: text("TERM_PROGRAM"),
        variables: variables(look.env),
        files: files(look.env),
    };
}

/// Lists the variables that count, in the order of their names.
fn variables(env: &Env) -> Vec<Variable> {
    let begins = |name: &str| PREFIXES.iter().chain(&TENSORFLOW).chain([&OWN]).any(|prefix| name.starts_with(prefix));
    let counts = |name: &str| NAMES.contains(&name) || begins(name);
    // What is empty is as good as unset to all that read them.
    let set = env.all().into_iter().filter(|(name, value)| counts(name) && !value.is_empty());
    let told = set.map(|(name, value)| {
        let value = match is_telling(&name, &value) {
            true => cut(value),
            false => redact::SET.to_owned(),
        };
        Variable { name, value }
    });
    told.collect()
}

/// Variables whose values are words that say something and are never a secret.
const WORDS: [&str; 22] = [
    "CONDA_DEFAULT_ENV",
    "CONDA_PROMPT_MODIFIER",
    "CONDA_SUBDIR",
    "ENABLE_PJRT_COMPATIBILITY",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "MACML_COLOR",
    "MACML_ENV",
    "MACML_LANG",
    "MACML_LINK_MODE",
    "MACML_MIRROR",
    "MACML_OUTPUT_FORMAT",
    "NO_PROXY",
    "OMP_PROC_BIND",
    "OMP_SCHEDULE",
    "PYTHONIOENCODING",
    "TF_XLA_FLAGS",
    "UV_INDEX_STRATEGY",
    "UV_LINK_MODE",
    "UV_PYTHON",
    "UV_TORCH_BACKEND",
    "no_proxy",
];

/// Whether a value may be told: a number, a yes or no, a path, an address (which is looked at by itself), or the word of a
/// variable that has such ones. Anything else may be anything.
fn is_telling(name: &str, value: &str) -> bool {
    const SAID: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "none", "auto"];
    let number = !value.is_empty() && value.chars().all(|char| char.is_ascii_digit() || ".,:;-".contains(char));
    let path = value.starts_with(['/', '~', '.']) || value.contains("://");
    let word = SAID.contains(&value.to_ascii_lowercase().as_str()) || WORDS.contains(&name);
    let proxy = name.to_ascii_lowercase().ends_with("_proxy");
    !redact::hints_at_secret(name) && value.len() <= LONGEST && (number || path || word || proxy)
}

fn cut(mut value: String) -> String {
    if value.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| value.is_char_boundary(*at)).unwrap_or_default();
        value.truncate(end);
        value.push('…');
    }
    value
}

/// Reads what shells read; those that are not there, or are not for us to read, set up nothing.
fn files(env: &Env) -> Vec<ShellFile> {
    let Some(home) = env.home() else { return Vec::new() };
    let zsh = env.get("ZDOTDIR").map_or_else(|| home.to_owned(), PathBuf::from);
    let place = |name: &str| if name.starts_with(".z") { zsh.join(name) } else { home.join(name) };
    let mut found = Vec::new();
    for path in FILES.iter().map(|name| place(name)) {
        let Ok(Some(bytes)) = fs::read_plain(&path, MOST) else { continue };
        let sets_up = sets_up(&String::from_utf8_lossy(&bytes));
        if !sets_up.is_empty() {
            found.push(ShellFile { path: path.display().to_string(), sets_up });
        }
    }
    found
}

/// Says what a file sets up, by its lines that are no comments.
fn sets_up(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')).collect();
    let told =
        SETS_UP.iter().filter(|(_, signs)| lines.iter().any(|line| signs.iter().any(|sign| line.contains(sign))));
    told.map(|(name, _)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::Laid;
    use super::*;

    #[test]
    fn variables_that_count_are_told_and_secrets_are_not() {
        let laid = Laid::new(&[]);
        let vars = [
            ("SHELL", "/bin/zsh"),
            ("TERM_PROGRAM", "iTerm.app"),
            ("PYTORCH_ENABLE_MPS_FALLBACK", ""),
            ("KMP_DUPLICATE_LIB_OK", "TRUE"),
            ("UV_PUBLISH_TOKEN", "abc"),
            ("UV_INDEX_CORP_USERNAME", "zhang"),
            ("PIP_EXTRA", "x"),
            ("HF_TOKEN", "hf_x"),
            ("HF_HOME", "/x"),
            ("https_proxy", "http://p:1"),
            ("PATH", "/bin"),
            ("LANG", "C"),
            ("UV_KEYRING_PROVIDER", ""),
        ];
        let shell = laid.look(&vars, shell).shell;
        let told: Vec<_> = shell.variables.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
        let expected = [
            ("HF_HOME", "/x"),
            ("KMP_DUPLICATE_LIB_OK", "TRUE"),
            ("PIP_EXTRA", "(set)"),
            ("UV_INDEX_CORP_USERNAME", "(set)"),
            ("UV_PUBLISH_TOKEN", "(set)"),
            ("https_proxy", "http://p:1"),
        ];
        assert_eq!(told, expected);
        assert_eq!((shell.login.as_deref(), shell.terminal.as_deref()), (Some("/bin/zsh"), Some("iTerm.app")));
        let long = cut("é".repeat(LONGEST));
        assert!(long.len() <= LONGEST + '…'.len_utf8() && long.ends_with('…'));
    }

    #[test]
    fn what_may_be_a_secret_is_told_as_set() {
        let check = |name: &str, value: &str, told: Option<&str>| {
            let laid = Laid::new(&[]);
            let found = laid.look(&[(name, value)], shell).shell;
            let found = found.variables.iter().find(|one| one.name == name).map(|one| one.value.as_str());
            assert_eq!(found, told, "{name}");
        };
        // Terraform's, which are given secrets that way.
        for name in ["TF_VAR_db", "TF_CLI_ARGS_plan", "TF_HTTP_PASSWORD", "TF_GITHUB"] {
            check(name, "hunter2", None);
        }
        for name in
            ["PYTHON_VAULT", "PYTHONPWD", "MLX_PW", "CONDA_PASSPHRASE", "OMP_X", "PIP_GLOBAL_OPTION", "PYTORCH_MPS_X"]
        {
            check(name, "hunter2", Some("(set)"));
        }
        check("PIP_GLOBAL_OPTION", "--password=hunter2", Some("(set)"));
        check("TF_CPP_MIN_LOG_LEVEL", "3", Some("3"));
        check("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0", Some("0.0"));
        check("CONDA_DEFAULT_ENV", "base", Some("base"));
        check("DYLD_LIBRARY_PATH", "/opt/x:/opt/y", Some("/opt/x:/opt/y"));
    }

    #[test]
    fn what_files_set_up() {
        let zshrc = "# >>> conda initialize >>>\n__conda_setup=\"$('/opt/miniconda3/bin/conda' 'shell.zsh' 'hook')\"\n\
                     eval \"$(direnv hook zsh)\"\n  # eval \"$(pyenv init -)\"\n";
        let profile = "eval \"$(/opt/homebrew/bin/brew shellenv)\"\nexport PYENV_ROOT=\"$HOME/.pyenv\"\n";
        let laid = Laid::new(&[("home/.zshrc", zshrc), ("home/.zprofile", profile), ("home/.bashrc", "alias a=b\n")]);
        let files = laid.look(&[], shell).shell.files;
        let told: Vec<_> = files.iter().map(|one| (one.path.as_str(), one.sets_up.join(" "))).collect();
        assert!(told[0].0.ends_with("/home/.zprofile") && told[1].0.ends_with("/home/.zshrc"), "{told:?}");
        assert_eq!([&told[0].1, &told[1].1], ["pyenv homebrew", "conda direnv"]);
        assert_eq!(told.len(), 2);
        // Elsewhere, and one that never ends.
        let laid = Laid::new(&[("z/.zshrc", "eval \"$(macml hook zsh)\"")]);
        let folder = laid.root().join("z").display().to_string();
        assert_eq!(laid.look(&[("ZDOTDIR", &folder)], shell).shell.files[0].sets_up, ["macml"]);
        let laid = Laid::new(&[]);
        laid.link("/dev/zero", "home/.zshrc");
        assert!(laid.look(&[], shell).shell.files.is_empty());
    }
}
