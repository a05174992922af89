//! Gathering [`Facts`]: the machine, PATH and Pythons, the project, environments, volumes, the network.
//!
//! Each part looks by itself, in a file of its own, and never fails: what it cannot see it says in [`Facts::unseen`]. Nothing is
//! run that belongs to somebody else, no Python above all, unless [`Look::full`] asks for it.

mod environments;
mod folders;
mod glance;
mod homebrews;
mod installed;
mod libraries;
mod locks;
mod machine;
mod measure;
mod memory;
mod metal;
mod network;
mod path;
mod plist;
mod project;
mod proof;
mod pythons;
mod redact;
mod shell;
mod started;
mod tools;

use std::path::{Path, PathBuf};

use crate::doctor::Facts;
use crate::doctor::facts;
use crate::host::Host;
use crate::index::Config;
use crate::sys::Env;

use glance::unseen;

pub use measure::{TIME_TO_ANSWER, measure};
pub use metal::{METAL_WORD, metal_answer};

/// What is looked at, and how far.
#[derive(Debug)]
pub struct Look<'a> {
    /// The variables that macml was given.
    pub env: &'a Env,
    /// The root of the machine: `/`, or a folder of a test.
    pub root: &'a Path,
    /// The Mac, as it was probed; none where it is none.
    pub host: Option<&'a Host>,
    /// Why the Mac could not be looked at.
    pub host_unseen: Option<String>,
    /// The folder of the project in reach.
    pub project: Option<PathBuf>,
    /// An environment that was named, with `--prefix`.
    pub prefix: Option<PathBuf>,
    /// The folder of all caches.
    pub cache: Option<PathBuf>,
    /// How indexes are reached; none where the settings cannot be read.
    pub config: Option<&'a Config>,
    /// Whether everything is looked at: the contents of files, the proof that libraries load, interpreters that are started.
    pub full: bool,
}

impl Look<'_> {
    /// Returns whether this machine is a Mac.
    fn is_mac(&self) -> bool {
        self.host.is_some() || cfg!(target_os = "macos")
    }

    /// Returns where a fixed place of the machine is, which is named from its root.
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// Looks at everything.
pub fn gather(look: &Look<'_>) -> Facts {
    let mut facts = Facts {
        version: facts::VERSION,
        macml: env!("CARGO_PKG_VERSION").to_owned(),
        source: "seen".to_owned(),
        ..Facts::default()
    };
    let parts = [
        machine::machine,
        memory::memory,
        tools::tools,
        shell::shell,
        path::gather,
        project::gather,
        environments::gather,
        pythons::gather,
        locks::gather,
        homebrews::gather,
        folders::folders,
        network::network,
        proof::gather,
    ];
    std::thread::scope(|scope| {
        // Another process is waited for: the rest goes on meanwhile.
        let metal = scope.spawn(|| metal::metal(look));
        parts.iter().for_each(|part| part(look, &mut facts));
        match metal.join() {
            Ok(Some(Ok(metal))) => facts.metal = Some(metal),
            Ok(Some(Err(why))) => unseen(&mut facts, "the Metal devices", why),
            Ok(None) | Err(_) => {}
        }
    });
    redact::Names::of(look).redact(facts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::host::Process;
    use crate::sys::fs;
    use crate::sys::tree;

    /// A machine, laid out in a folder.
    pub(super) struct Laid {
        folder: tempfile::TempDir,
        host: Option<Host>,
    }

    impl Laid {
        pub(super) fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for (path, text) in files {
                fs::write_atomic(&folder.path().join(path), text.as_bytes(), fs::Durability::Cached).unwrap();
            }
            Self { folder, host: None }
        }

        pub(super) fn mac(files: &[(&str, &str)]) -> Self {
            let [source, cpu, macos] = ["made", "Apple M3", "15.6"].map(str::to_owned);
            let host = Host { source, cpu, macos, process: Process::Native, memory: 8 << 30, arm64: Some(true) };
            Self { host: Some(host), ..Self::new(files) }
        }

        pub(super) fn root(&self) -> PathBuf {
            crate::sys::resolve(self.folder.path()).unwrap().unwrap()
        }

        pub(super) fn link(&self, target: &str, path: &str) {
            let path = self.root().join(path);
            fs::create_folder(path.parent().unwrap()).unwrap();
            tree::symlink(Path::new(target), &path).unwrap();
        }

        /// Variables, with a home in the folder.
        pub(super) fn env(&self, vars: &[(&str, &str)]) -> Env {
            let home = self.root().join("home").display().to_string();
            let vars = [("HOME", home.as_str())]
                .iter()
                .chain(vars)
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            Env::from_map(vars, self.root())
        }

        pub(super) fn looking<'a>(&'a self, env: &'a Env) -> Look<'a> {
            Look {
                env,
                root: self.folder.path(),
                host: self.host.as_ref(),
                host_unseen: None,
                project: None,
                prefix: None,
                cache: None,
                config: None,
                full: false,
            }
        }

        /// What one part sees.
        pub(super) fn look(&self, vars: &[(&str, &str)], part: fn(&Look<'_>, &mut Facts)) -> Facts {
            let env = self.env(vars);
            let mut facts = Facts::default();
            part(&self.looking(&env), &mut facts);
            facts
        }
    }

    #[test]
    fn this_machine_is_seen_and_nothing_of_it_is_an_error() {
        let env = Env::from_map(BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]), "/".into());
        let laid = Laid::new(&[]);
        let facts = gather(&Look { root: Path::new("/"), ..laid.looking(&env) });
        assert_eq!(facts.machine.system, std::env::consts::OS);
        assert!(facts.memory.total.unwrap() > 64 << 20 && facts.memory.free_percent.unwrap() <= 100);
        assert!(!facts.folders.is_empty());
        if cfg!(target_os = "linux") {
            assert!(facts.metal.is_none() && facts.machine.release.unwrap().starts_with("Linux "));
            assert_eq!(facts.unseen, []);
        }
    }

    #[test]
    fn nobody_learns_who_it_was_and_no_secret() {
        let pip = "[global]\nindex-url = https://zhangwei:s3cret@corp.example/simple?token=s3cret\n";
        let conda = "eval \"$(/opt/conda/bin/conda shell.zsh hook)\"";
        let cloud = "Users/zhangwei/Library/CloudStorage/GoogleDrive-zhangwei@example.org/p";
        let laid = Laid::mac(&[
            ("Users/zhangwei/.config/pip/pip.conf", pip),
            ("Users/zhangwei/.zshrc", conda),
            (&format!("{cloud}/macml.toml"), ""),
            ("etc/pip.conf", pip),
            ("Library/Security/Trust Settings/Admin.plist", "damaged"),
        ]);
        let home = laid.root().join("Users/zhangwei").display().to_string();
        let below = |path: &str| format!("{home}/{path}");
        let env = laid.env(&[
            ("HOME", &home),
            ("USER", "zhangwei"),
            ("HOSTNAME", "Zhangs-MacBook-Pro.local"),
            ("VIRTUAL_ENV", &below("p/.venv")),
            ("DYLD_LIBRARY_PATH", &format!("/opt/x:{}", below("lib"))),
            ("https_proxy", "http://zhangwei:s3cret@proxy.corp:3128"),
            ("UV_INDEX_CORP_PASSWORD", "s3cret"),
            ("PIP_TRUSTED_HOST", "Zhangs-MacBook-Pro.local"),
            ("SSL_CERT_FILE", &below("ca.pem")),
            ("TMPDIR", "/tmp/zhangwei"),
            ("SHELL", "/bin/zsh"),
        ]);
        let project = Some(laid.root().join(cloud));
        let look = Look { project, cache: Some(below(".cache/macml").into()), ..laid.looking(&env) };
        let facts = gather(&look);
        let text = serde_json::to_string_pretty(&facts).unwrap();
        let lower = text.to_lowercase();
        for name in ["zhangwei", "zhangs-macbook", "s3cret"] {
            assert!(!lower.contains(name), "{name}: {text}");
        }
        assert_eq!(facts.folders[0].synchronized_by.as_deref(), Some("Google Drive"));
        assert_eq!(facts.folders[0].folder, "~/Library/CloudStorage/GoogleDrive-(user)@example.org/p");
        assert_eq!(facts.shell.files[0].path, "~/.zshrc");
        assert_eq!(facts.network.other_settings.len(), 2);
        assert_eq!(facts.unseen.len(), 1, "{:?}", facts.unseen);
    }

    #[test]
    fn a_mac_that_could_not_be_looked_at_is_a_line() {
        let laid = Laid::new(&[]);
        let env = laid.env(&[]);
        let facts = gather(&Look { host_unseen: Some("refused".to_owned()), ..laid.looking(&env) });
        assert_eq!((facts.unseen[0].what.as_str(), facts.unseen[0].why.as_str()), ("this Mac", "refused"));
    }
}
