//! What `macml doctor` costs of looking at PATH, Pythons, Homebrews and a large environment, without `--full`.
//!
//! `cargo bench --bench doctor` lays out a machine under `target/bench-work/doctor/` on its first run: 60 folders of PATH,
//! eight Pythons of pyenv and an environment of 170 distributions with 40,000 files. It needs no network. A table in
//! Markdown goes to standard output; the times are those of a file system whose names are in memory.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark may look at the world, stop at once and talk"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use macml::host::Host;
use macml::pipeline::doctor::Look;
use macml::pipeline::doctor::gather;
use macml::sys::Env;

const FOLDERS: usize = 60;
const PYTHONS: usize = 8;
const DISTRIBUTIONS: usize = 170;
const FILES: usize = 40_000;
const SITE: &str = "lib/python3.12/site-packages";

/// What all of it may take, in milliseconds.
const BOUND: f64 = 200.0;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runs = match &words[..] {
        [] => 20,
        [option, runs] if option == "--runs" => runs.parse().expect("a number of runs"),
        _ => panic!("cargo bench --bench doctor -- [--runs N]   timed runs of each row (default 20)"),
    };
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("bench-work/doctor");
    if !root.join("done").is_file() {
        let _ = fs::remove_dir_all(&root);
        lay_out(&root);
    }
    let path: Vec<String> = (0..FOLDERS).map(|at| root.join(format!("path/{at}")).display().to_string()).collect();
    let home = root.join("home").display().to_string();
    let host: Host =
        serde_json::from_str(r#"{"cpu": "Apple M3", "macos": "15.6.1", "process": "native", "memory": 17179869184}"#)
            .unwrap();
    println!("| look | median of {runs} (least–most) | bound |\n| --- | ---: | ---: |");
    let measure = |name: &str, vars: &[(&str, String)], bound: &str| {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let env = Env::from_map(vars.collect::<BTreeMap<_, _>>(), root.clone());
        let look = Look {
            env: &env,
            root: &root,
            host: Some(&host),
            host_unseen: None,
            project: None,
            prefix: None,
            cache: None,
            config: None,
            full: false,
        };
        let mut times = Vec::new();
        for turn in 0..=runs {
            let begun = Instant::now();
            let facts = gather(&look);
            // The first brings names into memory, and is not counted.
            if turn > 0 {
                times.push(begun.elapsed().as_secs_f64() * 1000.0);
            }
            let whole = |one: &macml::doctor::facts::Distribution| one.record == "whole";
            let environments = facts.environments.iter();
            assert!(
                environments.flat_map(|one| &one.distributions).filter(|one| whole(one)).count() % DISTRIBUTIONS == 0
            );
        }
        times.sort_by(f64::total_cmp);
        let (least, most) = (times[0], times[times.len() - 1]);
        println!("| {name} | {:.1} ms ({least:.1}–{most:.1}) | {bound} |", times[times.len() / 2]);
    };
    let path = ("PATH", path.join(":"));
    let home = ("HOME", home);
    let environment = ("VIRTUAL_ENV", root.join("v").display().to_string());
    measure(&format!("PATH of {FOLDERS} folders"), std::slice::from_ref(&path), "");
    measure(&format!("{PYTHONS} Pythons"), std::slice::from_ref(&home), "");
    measure(&format!("{DISTRIBUTIONS} distributions, {FILES} files"), std::slice::from_ref(&environment), "");
    measure("all of it", &[path, home, environment], &format!("{BOUND} ms"));
}

/// Makes the machine.
fn lay_out(root: &Path) {
    let script = format!("#!{}\nprint()\n", root.join("v/bin/python").display());
    let head = head();
    for at in 0..FOLDERS {
        let folder = root.join(format!("path/{at}"));
        for name in (0..300).map(|at| format!("tool{at}")).chain(["pip".to_owned(), "python3.12".to_owned()]) {
            program(&folder.join(&name), if name.starts_with("python") { &head[..] } else { script.as_bytes() });
        }
    }
    for at in 0..PYTHONS {
        let folder = root.join(format!("home/.pyenv/versions/3.12.{at}"));
        program(&folder.join("bin/python3.12"), &head);
        let names = ["_lzma", "_bz2", "_ctypes", "_sqlite3", "_ssl"].map(str::to_owned);
        for name in names.into_iter().chain((0..65).map(|at| format!("_m{at}"))) {
            write(&folder.join(format!("lib/python3.12/lib-dynload/{name}.cpython-312-darwin.so")), &head);
        }
    }
    let environment = root.join("v");
    program(&environment.join("bin/python"), &head);
    write(&environment.join("pyvenv.cfg"), b"home = /usr/bin\nversion = 3.12.4\n");
    let site = environment.join(SITE);
    for at in 0..DISTRIBUTIONS {
        // The first has a quarter of all files, as torch has.
        let count = if at == 0 { FILES / 4 } else { FILES * 3 / 4 / (DISTRIBUTIONS - 1) };
        let info = format!("d{at}-1.0.dist-info");
        let mut record = format!("{info}/RECORD,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/INSTALLER,,\n");
        for file in 0..count {
            let path = format!("d{at}/part{}/module_{file}.py", file / 12);
            write(&site.join(&path), b"");
            writeln!(record, "{path},sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0").unwrap();
        }
        let metadata = format!("Name: d{at}\nVersion: 1.0\n{}\ntext\n", "Requires-Dist: x>=1\n".repeat(20));
        let files =
            [("RECORD", &*record), ("METADATA", &metadata), ("WHEEL", "Tag: py3-none-any\n"), ("INSTALLER", "pip\n")];
        for (name, text) in files {
            write(&site.join(&info).join(name), text.as_bytes());
        }
        program(&environment.join(format!("bin/c{at}")), script.as_bytes());
    }
    write(&root.join("done"), b"");
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn program(path: &Path, bytes: &[u8]) {
    write(path, bytes);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes the head of a program for arm64 whose one command says where its signature is.
fn head() -> Vec<u8> {
    let words: [u32; 12] = [0xfeed_facf, 0x0100_000c, 0, 2, 1, 16, 0, 0, 0x1d, 16, 64, 0];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(64, 0);
    bytes
}
