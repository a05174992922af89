//! `macml ops` over an index on loopback, with made wheels of torch that carry small tables: what it says, what it reads of
//! a wheel, what it keeps, and what stands in its way.

use std::io::Cursor;

use macml::install::{Bytes, WheelCache};
use macml::lock::model::LockedWheel;
use macml::operators::TABLE_PATH;
use macml::pep::Sha256;

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::{Action, Behaviour, FakeIndex, MetadataFiles, Ranges};

const OLD: &str = "\
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: add.out
  dispatch:
    SparseCPU, SparseCUDA: add_sparse

- func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: add_out
    MPS: add_out_mps

- func: linalg_svd(Tensor A) -> (Tensor U, Tensor S, Tensor Vh)
  python_module: linalg

- func: _linalg_svd(Tensor A) -> (Tensor U, Tensor S, Tensor Vh)
  dispatch:
    CPU, CUDA: _linalg_svd

- func: linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)
  python_module: linalg
  dispatch:
    CPU, CUDA: linalg_eig
  autogen: linalg_eig.out

- func: cudnn_only(Tensor self) -> Tensor
  dispatch:
    CUDA: cudnn_only
";

const NEW: &str = "
- func: linalg_polar(Tensor self) -> Tensor
  python_module: linalg
  dispatch:
    CPU, MPS: linalg_polar
";

const MAC: &str = "cp313-cp313-macosx_14_0_arm64";

fn torch(tags: &[&str], table: Option<&str>) -> Rel {
    let files = table.map(|text| (TABLE_PATH.to_owned(), text.to_owned())).into_iter().collect();
    let wheel_tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    Rel { wheel_tags, files, filling: 1 << 19, ..Rel::default() }
}

/// torch 2.13.0, 2.15.0 where the SVD has a kernel, and releases that cannot be read.
fn published() -> Published {
    let newer = OLD.replace("    CPU, CUDA: _linalg_svd", "    CPU, CUDA, MPS: _linalg_svd") + NEW;
    Published::default()
        .with_release("torch", "1.9.0", torch(&[MAC], None))
        .with_release("torch", "2.12.0", torch(&["cp313-cp313-manylinux_2_28_x86_64"], Some(OLD)))
        .with_release("torch", "2.12.1", torch(&[MAC], Some("<html>no table</html>\n")))
        .with_release("torch", "2.13.0", torch(&[MAC, "cp313-cp313-manylinux_2_28_x86_64"], Some(OLD)))
        .with_release("torch", "2.15.0", torch(&[MAC], Some(&newer)))
        .with("plain", "1.0", &[])
}

fn index() -> FakeIndex {
    FakeIndex::from_published(&published())
}

/// A project whose lock has torch 2.13.0, and a second environment without torch.
fn locked(index: &FakeIndex) -> Project {
    let rest = "[frameworks]\ntorch = \"==2.13.0\"\n[env.other.dependencies]\nplain = \"*\"\n";
    let project = Project::asking(index, "14.0", "==3.13.*", rest);
    project.run(&["lock"]).says(0, &["macml.lock written"]);
    project
}

#[test]
fn the_locked_torch_is_told_of_and_kept() {
    let index = index();
    let project = locked(&index);
    let sent = index.sent();
    let run = project.run(&["ops"]);
    let wanted = "\
torch 2.13.0 for Macs: 6 operators, and 1 more made from them
  GPU kernel    2
  composite     1  run on the GPU as far as the operators that they call do
  none          3  refused on the GPU, or done by the CPU
  other         1  for other backends only, such as cuDNN

without a GPU kernel, linalg:
  linalg_eig  in no release up to torch 2.15.0

composite, and what by its name does the work is without a GPU kernel:
  linalg_svd  first in torch 2.14.0, through _linalg_svd

1 that people do not call are left out: `--all` lists them
what the table cannot tell, `macml verify --ops` tries on a GPU
";
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, wanted, ""));
    // The wheel has half a megabyte; the table and the directory are a few kilobytes at its end.
    assert!(index.sent() - sent < 200_000, "{} bytes", index.sent() - sent);
    let all = project.run(&["ops", "--all"]);
    all.says(0, &["without a GPU kernel, internal:\n  _linalg_svd  first in torch 2.14.0\n"]);

    let asked = index.requests().len();
    assert_eq!(project.run(&["ops", "--offline"]).stdout, wanted);
    assert_eq!(index.requests().len(), asked);
    // It belongs to the wheel's package, and is asked for again when it went.
    project.run(&["cache", "clean", "torch"]).says(0, &[]);
    project.run(&["ops", "--offline"]).says(2, &["offline, and the cache has neither the table of `torch` 2.13.0"]);
    assert_eq!(project.run(&["ops"]).stdout, wanted);
}

#[test]
fn a_name_is_answered_with_its_overloads() {
    let index = index();
    let project = locked(&index);
    let run = project.run(&["ops", "add"]);
    let wanted = "\
add in torch 2.13.0: GPU kernel since torch 1.12.0
  add.Tensor  gpu  by add_out_mps of add.out  sparse: none
  add.out     gpu  by add_out_mps
";
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, wanted, ""));
    let run = project.run(&["ops", "torch.linalg.svd"]);
    let wanted = "\
torch.linalg.svd in torch 2.13.0: no GPU kernel, first in torch 2.14.0
  linalg_svd   composite
  by their names, these do its work:
  _linalg_svd  none  first in torch 2.14.0
";
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, wanted, ""));
    let later = project.run(&["ops", "torch.linalg.svd", "--torch", "2.15.0"]);
    later.says(0, &["torch.linalg.svd in torch 2.15.0: composite", "  _linalg_svd  gpu"]);
    project.run(&["ops", "aten::linalg_eig.out"]).says(1, &["none  calls linalg_eig and copies"]);

    let unknown = project.run(&["ops", "linalg_svdd"]);
    unknown.fails(2, "error: torch 2.13.0 has no operator `linalg_svdd`\n\nhint: did you mean `linalg_svd`, `_linalg_svd`, `linalg_eig`?");
    project.run(&["ops", "linalg_polar"]).says(2, &["hint: `linalg_polar` comes with torch 2.14.0"]);
    project.run(&["ops", "cholesky", "--torch", "2.15.0"]).says(2, &["hint: `cholesky` went with torch 2.14.0"]);
    // What has no kernel is a no, whatever else is unknown.
    project.run(&["ops", "nothing_like_it", "linalg_eig", "add"]).says(1, &["no operator `nothing_like_it`", "add in"]);
    project.run(&["ops", "nofile.log"]).says(2, &["there is no file `nofile.log`"]);
    for module in ["LSTM", "nn.LSTM", "torch.nn.LSTM"] {
        let run = project.run(&["ops", module]);
        run.says(2, &[&format!("hint: `macml verify --ops {module}` tries modules")]);
        run.never_says(&["did you mean"]);
    }
    project.run(&["ops", "./no-file"]).says(2, &["`./no-file` is neither a file nor a name of an operator"]);
}

#[test]
fn a_file_is_searched_for_names() {
    let index = index();
    let project = locked(&index);
    project.write(
        "log.txt",
        "x.py:1: UserWarning: The operator 'aten::add.out' is not currently supported on the MPS backend and will fall \
         back to run on the CPU.\nNotImplementedError: The operator 'aten::_linalg_svd' is not currently implemented for \
         the MPS device.\nalso aten::linalg_polar\ntorch.linalg.eig\nadd and more\n",
    );
    let run = project.run(&["ops", "log.txt"]);
    let wanted = "\
operators named in `log.txt`, in torch 2.13.0:
  aten::add.out       GPU kernel since torch 1.12.0
  aten::_linalg_svd   no GPU kernel, first in torch 2.14.0
  aten::linalg_polar  unknown, `linalg_polar` comes with torch 2.14.0
  torch.linalg.eig    no GPU kernel, in no release up to torch 2.15.0
";
    let note = "note: 1 line of `log.txt` counted for nothing, the first: add and more\n";
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, wanted, note));
    let report = project.run(&["ops", "log.txt", "--output-format", "json"]).json_as("ops.schema.json");
    let states: Vec<_> = report["asked"].as_array().unwrap().iter().map(|asked| asked["state"].as_str()).collect();
    assert_eq!(states, [Some("gpu"), Some("none"), None, Some("none")]);
    assert_eq!((&report["exit-code"], &report["asked"][1]["first"]), (&1.into(), &"2.14.0".into()));
    project.write("quiet.txt", "nothing fell back\n");
    project.run(&["ops", "quiet.txt"]).says(2, &["`quiet.txt` names no operator", "hint: write one"]);
    project.write("empty.txt", "");
    project.run(&["ops", "empty.txt"]).says(2, &["`empty.txt` names no operator"]);
    project.write("odd.txt", "aten::not_there\n");
    project.run(&["ops", "odd.txt"]).says(2, &["aten::not_there  unknown"]);
}

#[test]
fn two_releases_are_compared_without_a_project() {
    let index = index();
    let project = Project::asking(&index, "14.0", "==3.13.*", "");
    std::fs::remove_file(project.path().join("macml.toml")).unwrap();
    let run = project.run(&["ops", "--torch", "2.13.0", "--compare", "2.15.0"]);
    let wanted = "\
torch 2.13.0 to 2.15.0 for Macs
  2.13.0   GPU kernel 2, composite 1, none 3
  2.15.0   GPU kernel 4, composite 1, none 2

gained a GPU kernel (1):
  _linalg_svd

new, with a GPU kernel (1):
  linalg_polar
";
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, wanted, ""));
    let words = ["ops", "--torch", "2.15.0", "--compare", "2.13.0", "--output-format", "json", "--offline"];
    let report = project.run(&words).json_as("ops.schema.json");
    let compared = &report["compared"];
    assert_eq!(compared["lost"][0], serde_json::json!({"name": "_linalg_svd", "before": "gpu", "after": "none"}));
    assert_eq!(compared["gone"][0], serde_json::json!({"name": "linalg_polar", "before": "gpu"}));
    let report = project.run(&["ops", "--torch", "2.13.0", "--output-format", "json"]).json_as("ops.schema.json");
    assert_eq!((&report["torch"]["none"], report["missing"].as_array().unwrap().len()), (&3.into(), 3));
    let same = project.run(&["ops", "--torch", "2.13.0", "--compare", "2.13.0"]);
    same.says(0, &["nothing changed for the GPU"]);
}

#[test]
fn what_stands_in_the_way_is_told() {
    let index = index();
    let project = locked(&index);
    let check = |words: &[&str], parts: &[&str]| project.run(&[&["ops"], words].concat()).says(2, parts);
    check(&["--env", "other"], &["environment `other` has no `torch`", "hint: `--torch VERSION`"]);
    check(&["--env", "otter"], &["no environment `otter`", "did you mean `other`?"]);
    check(&["--torch", "9.9"], &["index `pypi` has no `torch` 9.9", "2.15.0, 2.13.0"]);
    check(&["--torch", "2.12.0"], &["`torch` 2.12.0 has no wheel for Apple Silicon Macs"]);
    check(&["--torch", "1.9.0"], &["carries no `torchgen/packaged/ATen/native/native_functions.yaml`"]);
    check(&["--torch", "2.12.1"], &["cannot be used", "line 1 of the table of operators cannot be read"]);
    check(&["--torch", "x"], &["invalid value 'x'"]);
    let json = project.run(&["ops", "--torch", "9.9", "--output-format", "json"]);
    assert_eq!((json.code, &json.json_as("ops.schema.json")["error"]["kind"]), (2, &"usage".into()));

    let target = "[target]\nplatforms = [\"linux-x86_64\"]\npython = \"==3.13.*\"\n";
    project.write("macml.toml", &format!("{target}[frameworks]\ntorch = \"==2.13.0\"\n"));
    project.run(&["lock"]).says(0, &[]);
    check(&[], &["environment `default` is not locked for macos-arm64", "hint: `--torch 2.13.0`"]);
    project.write("macml.lock", "<<<<<<< ours\n");
    check(&[], &["`macml.lock` cannot be used as it is"]);
    std::fs::remove_file(project.path().join("macml.lock")).unwrap();
    check(&[], &["there is no `macml.lock`", "hint: `macml lock` writes it", "hint: `--torch VERSION`"]);
    std::fs::remove_file(project.path().join("macml.toml")).unwrap();
    check(&[], &["no `macml.toml`", "hint: `--torch VERSION`"]);
}

#[test]
fn without_an_index_only_what_is_kept_is_told() {
    let index = index();
    let project = locked(&index);
    project.run(&["ops", "--torch", "2.15.0"]).says(0, &[]);
    index.rule("/", usize::MAX, Action::Status(503));
    project.run(&["ops"]).says(2, &["could not ask for the table of operators of `torch`", "503"]);
    project.run(&["ops", "--torch", "2.15.0", "add"]).says(0, &["add in torch 2.15.0"]);
    project.run(&["ops", "--torch", "2.13.0", "--offline"]).says(2, &["offline"]);
}

#[test]
fn an_unpacked_wheel_needs_no_index() {
    let index = index();
    let project = locked(&index);
    let name = format!("torch-2.13.0-{MAC}.whl");
    let bytes = index.bytes(&name);
    let locked = LockedWheel { file: name.parse().unwrap(), size: bytes.len() as u64, sha256: Sha256::of(&bytes) };
    let cache = WheelCache::inside(&project.path().join(".cache/macml"));
    let unpacked = cache.open().unwrap().unpack(&locked, Cursor::new(bytes), Bytes::Unchecked).unwrap();
    let asked = index.requests().len();
    project.run(&["ops", "add", "--offline"]).says(0, &["add in torch 2.13.0: GPU kernel"]);
    assert_eq!(index.requests().len(), asked);
    // One that was touched does not count.
    let table = unpacked.folder.join(TABLE_PATH);
    std::fs::remove_file(&table).unwrap();
    std::fs::write(&table, OLD.replace("MPS", "XPU")).unwrap();
    project.run(&["ops", "add", "--offline"]).says(2, &["offline"]);
    project.run(&["ops", "add"]).says(0, &["add in torch 2.13.0: GPU kernel"]);
}

/// As with METADATA: ranges cannot be held against the wheel's sha256, the whole wheel is.
#[test]
fn what_a_mirror_told_counts_for_that_mirror_and_a_whole_wheel_is_checked() {
    let lie = OLD.replace("    MPS: add_out_mps\n", "");
    let lying = Published::default().with_release("torch", "2.13.0", torch(&[MAC], Some(&lie)));
    let index = index();
    let name = format!("torch-2.13.0-{MAC}.whl");
    let honest = Sha256::of(&index.bytes(&name)).to_string();
    for (ranges, told) in [(Ranges::Served, "no GPU kernel"), (Ranges::Ignored, "GPU kernel since")] {
        let mirror = FakeIndex::behaving(
            &lying,
            Behaviour { metadata_files: MetadataFiles::None, sizes: false, ranges, ..Behaviour::default() },
        );
        let file = serde_json::json!({
            "filename": name, "url": format!("../../files/{name}"), "hashes": { "sha256": honest },
        });
        let page = serde_json::json!({ "meta": { "api-version": "1.0" }, "files": [file] }).to_string();
        mirror.rule("/simple/", 99, Action::Body("application/json".to_owned(), page.into_bytes()));
        let project = Project::asking(&index, "14.0", "==3.13.*", "");
        let through = [("MACML_MIRROR", format!("{},{}", mirror.url(), index.url()))];
        let through: Vec<(&str, &str)> = through.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let words = ["ops", "add", "--torch", "2.13.0"];
        let run = project.run_with(&through, &words);
        assert!(run.stdout.contains(told), "{}{}", run.stdout, run.stderr);
        project.run(&words).says(0, &["GPU kernel since"]);
    }
}
