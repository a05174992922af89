//! Every Mach-O of real wheels, read by macml and by `lief` (live): dependencies, run paths, imports and exports.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use macml::check::facts::{
    FactsCache, Image, NumpyAbi, Signature, Table, Version, WheelFacts, read_unpacked, read_wheel,
};
use macml::index::Config;
use macml::index::download::Downloads;
use macml::install::{Bytes, WheelCache};
use macml::lock::model::LockedWheel;
use macml::pep::WheelName;
use macml::progress::Silent;
use macml::sys::Env;
use serde::Deserialize;

use crate::installer_agreement::wanted;
use crate::live_index::live;
use crate::support::python::python_with;

/// The release that is compared with.
const LIEF: &str = "lief==1.0.0";

/// Wheels of every generation: bind opcodes with an empty edge among the exports, opcodes with a renamed library, chained
/// fixups, both in one wheel, chained fixups of an old linker.
const WHEELS: [&str; 5] = [
    "torchvision-0.15.2-cp311-cp311-macosx_11_0_arm64.whl",
    "tensorflow_metal-1.2.0-cp311-cp311-macosx_12_0_arm64.whl",
    "mlx_metal-0.32.0-py3-none-macosx_14_0_arm64.whl",
    "torchvision-0.28.0-cp311-cp311-macosx_14_0_arm64.whl",
    "scikit_learn-1.3.2-cp311-cp311-macosx_12_0_arm64.whl",
];

/// What is compared of an image.
#[derive(PartialEq, Eq, Debug, Deserialize)]
struct Read {
    dependencies: Vec<String>,
    rpaths: Vec<String>,
    /// Ordinal, name, whether it is weak, whether it is lazy.
    imports: BTreeSet<(i32, String, bool, bool)>,
    exports: BTreeSet<String>,
}

/// The images of a wheel by path; `None` without a slice for arm64.
type Images = BTreeMap<String, Option<Read>>;

fn ours(images: &[Image]) -> Images {
    let read = |image: &Image| {
        let slice = image.slice.as_ref().ok()?;
        let imports = slice.imports.iter();
        Some(Read {
            dependencies: slice.dependencies.iter().map(|dependency| dependency.path.clone()).collect(),
            rpaths: slice.rpaths.clone(),
            imports: imports
                .map(|import| (import.ordinal.into(), import.name.to_owned(), import.weak, import.lazy))
                .collect(),
            exports: slice.exports.names().into_iter().collect(),
        })
    };
    images.iter().map(|image| (image.path.clone(), read(image))).collect()
}

/// `lief`, waiting for wheels.
struct Lief(Child);

impl Lief {
    fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/facts/lief_facts.py");
        let mut command = Command::new(python_with("lief", LIEF));
        Self(command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    fn read(&mut self, wheel: &Path) -> Images {
        writeln!(self.0.stdin.as_mut().unwrap(), "{}", wheel.display()).unwrap();
        let mut answer = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Lief {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says how two readings differ, with a few examples for each image.
fn differences(ours: &Images, theirs: &Images) -> Vec<String> {
    let mut told = Vec::new();
    for path in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        match (ours.get(path), theirs.get(path)) {
            (Some(Some(ours)), Some(Some(theirs))) => {
                if (&ours.dependencies, &ours.rpaths) != (&theirs.dependencies, &theirs.rpaths) {
                    told.push(format!("{path}: {ours:?} is not {theirs:?}"));
                }
                let some = |of: &mut dyn Iterator<Item = String>| of.take(3).collect::<Vec<_>>();
                let imports =
                    |a: &Read, b: &Read| some(&mut a.imports.difference(&b.imports).map(|x| format!("{x:?}")));
                let exports = |a: &Read, b: &Read| some(&mut a.exports.difference(&b.exports).cloned());
                for (what, found) in [
                    ("imports of macml only", imports(ours, theirs)),
                    ("imports of lief only", imports(theirs, ours)),
                    ("exports of macml only", exports(ours, theirs)),
                    ("exports of lief only", exports(theirs, ours)),
                ] {
                    if !found.is_empty() {
                        told.push(format!("{path}: {what}: {}", found.join(", ")));
                    }
                }
            }
            (ours, theirs) if ours != theirs => told.push(format!("{path}: read by one only")),
            _ => {}
        }
    }
    told
}

fn image<'a>(facts: &'a WheelFacts, end: &str) -> &'a Image {
    facts.images.iter().find(|image| image.path.ends_with(end)).unwrap_or_else(|| panic!("no image `{end}`"))
}

#[test]
fn real_images_are_read_as_lief_reads_them() {
    if !live() {
        return;
    }
    let names = WHEELS.map(|name| name.parse::<WheelName>().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let wanted = wanted(&cache, &names);
    let config = Config { cache_dir: Some(cache.clone()), ..Config::new(Env::capture().unwrap()) };
    let unpacked = WheelCache::inside(&cache).open().unwrap();
    let mut lief = Lief::start();
    let (mut wrong, mut tables, mut images, mut all) = (Vec::new(), Vec::new(), 0, BTreeMap::new());
    for ready in Downloads::begin(&config, &wanted, Arc::new(Silent)).unwrap() {
        let ready = ready.unwrap();
        let wanted = wanted.iter().find(|one| one.sha256 == ready.sha256).unwrap();
        let open = || std::fs::File::open(&ready.path).unwrap();
        let facts = read_wheel(&mut macml::install::open(open(), &wanted.wheel).unwrap()).unwrap();
        let found = differences(&ours(&facts.images), &lief.read(&ready.path));
        wrong.extend(found.into_iter().map(|one| format!("{}: {one}", wanted.wheel)));
        images += facts.images.len();
        for slice in facts.images.iter().filter_map(|image| image.slice.as_ref().ok()) {
            assert_eq!(slice.signature, Signature::Intact, "{}", wanted.wheel);
            tables.push(slice.imports.table());
        }
        // The same from files on disk.
        let locked = LockedWheel { file: wanted.wheel.clone(), size: wanted.size, sha256: wanted.sha256 };
        let on_disk = read_unpacked(&unpacked.unpack(&locked, open(), Bytes::Checked).unwrap()).unwrap();
        assert!(on_disk == facts, "{}", wanted.wheel);
        all.insert(wanted.wheel.name.to_string() + wanted.wheel.version.to_string().as_str(), facts);
        ready.discard().unwrap();
    }
    eprintln!("{images} images of {} wheels", wanted.len());
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    let count = |table| tables.iter().filter(|found| **found == table).count();
    assert!(count(Table::Chained) >= 10 && count(Table::Opcodes) >= 10, "{tables:?}");

    // What only macml reads.
    let sklearn = image(&all["scikit-learn1.3.2"], "sklearn/svm/_libsvm.cpython-311-darwin.so");
    assert_eq!(sklearn.slice.as_ref().unwrap().markers.numpy, Some(NumpyAbi::One));
    let openmp = image(&all["scikit-learn1.3.2"], "libomp.dylib").slice.as_ref().unwrap();
    assert!(openmp.markers.openmp);
    assert_eq!(openmp.install_name.as_deref(), Some("/DLC/sklearn/.dylibs/libomp.dylib"));
    let metal = &all["tensorflow-metal1.2.0"];
    let plugin = image(metal, "libmetal_plugin.dylib").slice.as_ref().unwrap();
    assert!(plugin.dependencies.iter().any(|one| one.path == "@rpath/_pywrap_tensorflow_internal.so"));
    assert_eq!(plugin.build.unwrap().minos, Version::new(12, 1, 0));
    assert!(metal.hooks.contains(&macml::check::facts::Hook::TensorFlow));
    let mlx = &all["mlx-metal0.32.0"].metal[..];
    assert!(
        !mlx.is_empty() && mlx.iter().all(|one| one.target.is_some_and(|build| build.minos.major() == 14)),
        "{mlx:?}"
    );
}

/// What this process has used so far: seconds of processor, and the most memory in MB, where the system tells.
fn used() -> (f64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    ((ticks(11) + ticks(12)) / 100.0, peak.and_then(|peak| peak.parse::<u64>().ok()).unwrap_or_default() >> 10)
}

/// The largest wheels there are, `MACML_LIVE=full` only; what they cost is printed, and means something when this test runs
/// alone and optimized.
#[test]
fn the_largest_wheels_are_read_while_they_are_inflated() {
    if std::env::var("MACML_LIVE").as_deref() != Ok("full") {
        eprintln!("skipped: downloads 390 MB, set MACML_LIVE=full");
        return;
    }
    let names =
        ["tensorflow-2.19.1-cp311-cp311-macosx_12_0_arm64.whl", "torch-2.15.0-cp311-cp311-macosx_14_0_arm64.whl"];
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let wanted = wanted(&cache, &names.map(|name| name.parse::<WheelName>().unwrap()));
    let config = Config { cache_dir: Some(cache.clone()), ..Config::new(Env::capture().unwrap()) };
    let mut all = BTreeMap::new();
    for ready in Downloads::begin(&config, &wanted, Arc::new(Silent)).unwrap() {
        let ready = ready.unwrap();
        let wheel = &wanted.iter().find(|one| one.sha256 == ready.sha256).unwrap().wheel;
        let (before, _) = used();
        let file = std::fs::File::open(&ready.path).unwrap();
        let facts = read_wheel(&mut macml::install::open(file, wheel).unwrap()).unwrap();
        let (after, peak) = used();
        let kept = FactsCache::inside(&cache);
        kept.put(wheel, ready.sha256, &facts).unwrap();
        let entry = cache.join("facts-v1").join(ready.sha256.to_string()).metadata().unwrap().len();
        eprintln!(
            "{wheel}: {} images, {:.1} s of processor, at most {peak} MB of memory, {} kB kept",
            facts.images.len(),
            after - before,
            entry >> 10
        );
        assert!(kept.get(wheel, ready.sha256).unwrap().as_ref() == Some(&facts));
        let broken = |image: &&Image| image.slice.as_ref().is_ok_and(|slice| slice.signature != Signature::Intact);
        assert_eq!(facts.images.iter().find(broken), None);
        if wheel.name.as_str() == "torch" {
            let found = differences(&ours(&facts.images), &Lief::start().read(&ready.path));
            assert!(found.is_empty(), "{}", found.join("\n"));
        }
        all.insert(wheel.name.to_string(), facts);
        ready.discard().unwrap();
    }
    let tensorflow = image(&all["tensorflow"], "_pywrap_tensorflow_internal.so").slice.as_ref().unwrap();
    assert_eq!(tensorflow.install_name.as_deref(), Some("@rpath/_pywrap_tensorflow_internal.so"));
    let openmp: Vec<&str> = all["torch"]
        .images
        .iter()
        .filter(|image| image.slice.as_ref().is_ok_and(|slice| slice.markers.openmp))
        .map(|image| image.path.as_str())
        .collect();
    assert_eq!(openmp, ["torch/lib/libomp.dylib"]);
}
