//! Probes through the real runner: small Python programs that answer well, answer badly, break, hang and lie; a program
//! that the loader refuses; and the probes we ship, where there is no framework or one that is not what it should be.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use macml::verify::protocol::{Device, ElementType, Event, Framework, Limits, PROTOCOL, ProbeKind, Question, Request};
use macml::verify::protocol::{Sizes, Tolerances};
use macml::verify::{Ended, Outcome, Probe, Transcript, Word, judge, tried};

/// What these programs have in common: the Python side of the protocol, as our own probes have it, and an answer of
/// which each changes a part. The product is really computed.
const ANSWER: &str = r#"
def product(factor=1.0):
    a = [[math.sin(i * 7 + j) for j in range(20)] for i in range(20)]
    wide = [[sum(a[i][k] * a[k][j] for k in range(20)) for j in range(20)] for i in range(20)]
    scale = max(abs(one) for row in wide for one in row)
    apart = max(abs(one * factor - one) for row in wide for one in row)
    return {"max-abs": number(apart), "max-rel": number(apart / scale), "nan": int(apart != apart) * 400}

def head(version="2.13.0+cpu", built=True, available=True, **more):
    say_hello({"torch": version})
    say_device(built, available, "mps:0" if available else None, "Apple M1 for " + str(REQUEST["seed"]), **more)
    return available

def check(**more):
    begin("product", "float32")
    said = dict(id="product", type="float32", round=0, shapes=[[20, 20], [20, 20]], elements=400)
    said.update(product(), **more)
    say("check", **said)

def learn(device=(1.0, 0.5, 0.05)):
    begin("training-dense", "float32")
    losses = list(device)
    say_training("training-dense", losses, [1.0, 0.5, 0.05], (1, 1), state={}, state_on_device=True, moved=True)
"#;

fn request() -> Request {
    Request {
        protocol: PROTOCOL,
        framework: Framework::Torch,
        release: Some("2.13.0".into()),
        device: Device::Mps,
        seed: 7_411,
        questions: vec![Question::Product, Question::Training],
        types: vec![ElementType::Float32],
        sizes: Sizes::for_memory(8 << 30),
        limits: Limits { begin: 30, end: 60 },
        tolerances: Tolerances::default(),
        operators: Vec::new(),
    }
}

/// Returns the interpreter that is on the path, by its file.
fn python() -> PathBuf {
    let output = Command::new("python3").args(["-I", "-c", "import sys; print(sys.executable)"]).output().unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn asked(script: &str, request: &Request) -> Transcript {
    let text = format!("{}\n{ANSWER}\n{script}", include_str!("../../src/verify/probes/protocol.py"));
    let args = ["-I", "-B", "-c", &text].map(OsString::from).into();
    Probe { kind: ProbeKind::Python, program: python(), args, env: BTreeMap::new() }.ask(request)
}

/// Runs a program, and checks the word, the exit code and how its first sentence begins.
#[track_caller]
fn check(script: &str, word: Word, code: u8, sentence: &str) -> Transcript {
    judged(asked(script, &request()), word, code, sentence)
}

#[track_caller]
fn judged(transcript: Transcript, word: Word, code: u8, sentence: &str) -> Transcript {
    let verdict = judge(&transcript);
    assert_eq!((verdict.word, verdict.word.class().code()), (word, code), "{:#?}\n{transcript:#?}", verdict.problems);
    match verdict.problems.first() {
        Some(first) => assert!(first.sentence.starts_with(sentence), "{}\n{sentence}", first.sentence),
        None => assert_eq!(sentence, ""),
    }
    transcript
}

/// Judges a torch without Metal: on a Mac another build could use the device.
#[track_caller]
fn unbuilt(transcript: Transcript) {
    let hidden = transcript.device().is_some_and(|device| device.listed == Some(0));
    match (cfg!(target_os = "macos"), hidden) {
        (true, false) => judged(transcript, Word::NotBuilt, 1, "this torch is built without mps"),
        (true, true) => judged(transcript, Word::NotVisible, 2, "this process sees no GPU"),
        (false, _) => judged(transcript, Word::NoDevice, 2, "mps is there on Macs only, this system is "),
    };
}

#[test]
fn one_that_answers_well() {
    let transcript = check("head(); check(); learn(); done()", Word::Ok, 0, "");
    assert_eq!(transcript.ended, Ended::Code(0));
    // What was asked arrived.
    assert_eq!(transcript.device().unwrap().name.as_deref(), Some("Apple M1 for 7411"));
    assert_eq!(transcript.checks().count(), 1);
    assert_eq!(transcript.hello().unwrap().versions["torch"], "2.13.0+cpu");
}

#[test]
fn wrong_numbers_by_one_part_in_a_thousand() {
    let named = "`product` (square matrix product) in float32: off by 1.0e-3 of its scale; 1.0e-4 is allowed";
    check("head(); check(**product(1.001)); learn(); done()", Word::WrongNumbers, 3, named);
    check("head(); check(**product(1.00001)); learn(); done()", Word::Ok, 0, "");
}

#[test]
fn nan() {
    let named = "`product` (square matrix product) in float32: 400 of 400 elements are NaN";
    check("head(); check(**product(float('nan'))); learn(); done()", Word::Nan, 3, named);
    let named = "`training-dense`: the loss is NaN or infinite at 1 of 2 steps";
    check("head(); check(); learn((1.0, float('nan'))); done()", Word::Nan, 3, named);
}

#[test]
fn one_that_does_not_learn() {
    let named = "`training-dense`: the losses on the device and on the CPU are apart by 9.5e-1 of the first";
    let transcript = check("head(); check(); learn((1.0, 1.0, 1.0)); done()", Word::WrongNumbers, 3, named);
    assert_eq!(judge(&transcript).problems[1].word, Word::DidNotLearn);
}

#[test]
fn one_that_breaks() {
    let transcript = check(
        "head(); check(); begin('conv2d', 'float16'); sys.stderr.write('x.mm:78: failed assertion `bad\\n'); \
         sys.stderr.flush(); os.abort()",
        Word::Crashed,
        1,
        "the probe was ended by signal 6 (abort) in the middle of `conv2d` in float16: x.mm:78: failed assertion `bad",
    );
    // What came before is known.
    assert_eq!(transcript.checks().count(), 1);
    check(
        "head(); begin('conv2d'); os.kill(os.getpid(), 11)",
        Word::Crashed,
        1,
        "the probe was ended by signal 11 (segmentation fault) in the middle of `conv2d`",
    );
    check(
        "head(); begin('conv2d'); raise RuntimeError('surprise')",
        Word::Crashed,
        1,
        "the probe ended with code 1 in the middle of `conv2d`: RuntimeError: surprise",
    );
    check("os.abort()", Word::Crashed, 1, "the probe was ended by signal 6 (abort) while loading torch");
    // Wrong numbers weigh more than what happened after them.
    let named = "`product` (square matrix product) in float32: off by";
    check("head(); check(**product(1.001)); begin('conv2d'); os.abort()", Word::WrongNumbers, 3, named);
}

#[test]
fn one_that_hangs() {
    let mut request = request();
    request.limits = Limits { begin: 1, end: 2 };
    let begun = Instant::now();
    // With a child that holds its output open.
    let script =
        "head(); check(); begin('conv2d')\nimport subprocess; subprocess.Popen(['sleep', '300']); time.sleep(300)";
    let named = "the probe was stopped after 2 s in the middle of `conv2d`";
    judged(asked(script, &request), Word::Hung, 2, named);
    judged(asked("time.sleep(300)", &request), Word::Hung, 2, "the probe was stopped after 2 s while loading torch");
    assert!(begun.elapsed() < Duration::from_secs(40));
}

#[test]
fn one_that_is_slow_says_what_it_left_out() {
    let mut request = request();
    request.limits = Limits { begin: 1, end: 60 };
    let script = "head(); check(); learn(); time.sleep(1.1); begin('conv2d', 'float32'); done()";
    let named = "1 computation was not begun, because 1 s were over";
    judged(asked(script, &request), Word::Incomplete, 1, named);
}

#[test]
fn no_device() {
    let end = "or check(); done()";
    let no = format!("head(available=False, error='no Metal') {end}");
    check(&no, Word::NoDevice, 2, "torch finds no mps device that it can use");
    let no = format!("head(built=False, available=False) {end}");
    unbuilt(asked(&no, &request()));
    let no = format!("os.environ['CUDA_VISIBLE_DEVICES'] = ''; head(available=False) {end}");
    let request = Request { device: Device::Cuda, ..request() };
    let named = "this process sees no GPU: `CUDA_VISIBLE_DEVICES` hides every device from it";
    judged(asked(&no, &request), Word::NotVisible, 2, named);
}

#[test]
fn fallbacks() {
    const WARNED: &str = "The operator 'aten::linalg_cholesky_ex.L' is not currently supported on the MPS backend and will \
                          fall back to run on the CPU. This may have performance implications.";
    let named = "`aten::linalg_cholesky_ex.L` was computed on the CPU instead of the device";
    let warn = format!("head(); check(); warnings.warn(\"{WARNED}\"); warnings.warn(\"{WARNED}\"); learn(); done()");
    let transcript = check(&warn, Word::Fallback, 1, &format!("{named}, in `product`"));
    assert_eq!(transcript.fallbacks().len(), 1);
    // From a thread of torch's own, past Python.
    let print = format!("head(); check(); os.write(2, b\"{WARNED}\\n\"); learn(); done()");
    check(&print, Word::Fallback, 1, named);
}

/// Operators, with the lines that our own protocol prints: what a thread of torch's prints belongs to the one that is on.
#[test]
fn operators() {
    let mut request = request();
    request.questions = vec![Question::Operators];
    request.operators = vec!["linalg_qr".into(), "ctc_loss".into()];
    let common = "head()
say('planned', operators=['linalg_qr', 'ctc_loss'])
def one(name, pass_='forward', **more):
    said = {'name': name, 'asked': name, 'pass': pass_, 'type': 'float32', 'shapes': [[4, 4]]}
    say('operator', **{**said, 'elements': 16, 'max-rel': 1e-7, **more})
begin('linalg_qr'); one('linalg_qr'); begin('ctc_loss')";
    let asked = |rest: &str| self::asked(&format!("{common}\n{rest}"), &request);
    let outcomes = |transcript: &Transcript| -> Vec<Outcome> {
        let all = tried(transcript);
        all.iter().map(|one| one.outcome).collect()
    };
    judged(asked("one('ctc_loss'); done()"), Word::Ok, 0, "");
    let warn = "The operator 'aten::_ctc_loss' is not currently supported on the MPS backend and will fall back to run on \
                the CPU.";
    let named = "`ctc_loss` backward in float32: `aten::_ctc_loss` computed on the CPU instead of the device";
    let printed = format!(
        "one('ctc_loss'); begin('ctc_loss backward'); os.write(2, b\"{warn}\\n\"); one('ctc_loss', 'backward'); done()"
    );
    let transcript = judged(asked(&printed), Word::Fallback, 1, named);
    assert_eq!(outcomes(&transcript), [Outcome::Supported, Outcome::Supported, Outcome::Fallback]);
    // Heard by Python, it is told with the operator, and in the other one it is told again.
    let heard = format!(
        "warnings.warn(\"{warn}\"); one('ctc_loss', fallbacks=Now.fallen); begin('ctc_loss backward'); warnings.warn(\"{warn}\"); one('ctc_loss', 'backward', fallbacks=Now.fallen); done()"
    );
    let transcript =
        judged(asked(&heard), Word::Fallback, 1, "`ctc_loss` in float32: `aten::_ctc_loss` computed on the CPU");
    assert_eq!(outcomes(&transcript), [Outcome::Supported, Outcome::Fallback, Outcome::Fallback]);
    assert_eq!(judge(&transcript).problems.len(), 2);
    let named = "the probe was ended by signal 6 (abort) in the middle of `ctc_loss`";
    let transcript = judged(asked("os.abort()"), Word::Crashed, 1, named);
    assert_eq!(outcomes(&transcript), [Outcome::Supported, Outcome::Fails]);
    request.limits = Limits { begin: 1, end: 2 };
    let hang = self::asked(&format!("{common}\ntime.sleep(300)"), &request);
    let transcript = judged(hang, Word::Hung, 2, "the probe was stopped after 2 s in the middle of `ctc_loss`");
    assert_eq!(outcomes(&transcript), [Outcome::Supported, Outcome::Fails]);
}

#[test]
fn another_release() {
    check("head('2.15.0') and done()", Word::WrongRelease, 1, "torch 2.15.0 was loaded, and 2.13.0 was to be asked");
}

#[test]
fn garbage() {
    let nothing = "the probe said nothing that can be read, and ended with code 0";
    check("SPEAKER.write('<html>hello</html>\\n')\nSPEAKER.close()", Word::Garbage, 1, &format!("{nothing}: <html>"));
    check("os._exit(0)", Word::Garbage, 1, nothing);
    let named = "the probe said something that is no answer: {\"event\": \"check\", \"id";
    let part = "SPEAKER.write(PREFIX + '{\"event\": \"check\", \"id\\n'); SPEAKER.flush()";
    check(&format!("head(); {part}; check(); learn(); done()"), Word::Garbage, 1, named);
    let transcript = check(&format!("head(); check(); {part}; os._exit(0)"), Word::Garbage, 1, named);
    assert_eq!(transcript.checks().count(), 1);
    // What is not text is no reason to stop reading.
    let bytes = "head(); SPEAKER.flush(); os.write(SPEAKER.fileno(), b'\\xff\\xfe\\x00\\n'); check(); learn(); done()";
    check(bytes, Word::Ok, 0, "");
}

#[test]
fn more_than_anybody_reads() {
    // What is printed by the way goes elsewhere, and does not keep the answer from being read.
    let way = "head()\nfor _ in range(40): os.write(1, b'x' * 100000 + b'\\n')\ncheck(); learn(); done()";
    let transcript = check(way, Word::Ok, 0, "");
    assert!(transcript.printed.iter().all(|line| line.len() < 1000) && transcript.printed.len() < 100);
    // Where the answer should be it drowns it.
    let drown = "head()\nfor _ in range(40): SPEAKER.write('x' * 100000 + '\\n')\ncheck(); learn(); done()";
    let named = "the probe ended without having said that it is through";
    check(drown, Word::Garbage, 1, named);
}

#[test]
fn one_that_is_not_there() {
    let probe = Probe::native(Path::new("/nowhere/macml-probe"), BTreeMap::new());
    judged(probe.ask(&request()), Word::NotRun, 2, "the probe of torch could not be started: No such file");
}

/// A real program that needs a libc10 which is gone.
#[test]
fn a_native_one_that_the_loader_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("c10.c"), "int c10(void) { return 0; }\n").unwrap();
    std::fs::write(path("probe.c"), "int c10(void); int main(void) { return c10(); }\n").unwrap();
    let library = if cfg!(target_os = "macos") { "libc10.dylib" } else { "libc10.so" };
    let cc = |args: &[&str]| {
        let done = Command::new("cc").args(args).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    cc(&["-shared", "-fPIC", "-o", library, "c10.c"]);
    cc(&["-o", "macml-probe", "probe.c", library, "-Wl,-rpath,."]);
    let variable = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
    let env = BTreeMap::from([(variable.to_owned(), folder.path().display().to_string())]);
    let probe = Probe::native(&path("macml-probe"), env);
    // With the library it starts, and has nothing to say.
    judged(probe.ask(&request()), Word::Garbage, 1, "the probe said nothing that can be read, and ended with code 0");
    std::fs::remove_file(path(library)).unwrap();
    let transcript = judged(probe.ask(&request()), Word::CannotLoad, 1, "torch cannot be loaded: ");
    assert!(judge(&transcript).problems[0].sentence.contains("libc10"));
}

/// An environment without packages, to which a test may add modules.
struct Bare {
    folder: tempfile::TempDir,
}

impl Bare {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(folder.path()).status().unwrap();
        assert!(made.success());
        Self { folder }
    }

    fn add(&self, module: &str, text: &str) {
        let script = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let output = Command::new(self.python()).args(["-I", "-c", script]).output().unwrap();
        let site = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        let file = site.join(module);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn python(&self) -> PathBuf {
        self.folder.path().join("bin/python")
    }

    fn ask(&self, framework: Framework, device: Device) -> Transcript {
        let release = Some("2.13.0".to_owned()).filter(|_| framework == Framework::Torch);
        let request = Request { framework, device, release, ..request() };
        Probe::python(framework, &self.python(), BTreeMap::new()).ask(&request)
    }
}

#[test]
fn our_own_probes_say_that_there_is_no_framework() {
    let bare = Bare::new();
    for (framework, module) in [
        (Framework::Torch, "torch"),
        (Framework::Tensorflow, "numpy"),
        (Framework::Mlx, "mlx"),
        (Framework::Coremltools, "numpy"),
    ] {
        let named = format!("{framework} cannot be loaded: ModuleNotFoundError: No module named '{module}'");
        let transcript = judged(bare.ask(framework, Device::Cpu), Word::CannotLoad, 1, &named);
        assert_eq!((transcript.ended, transcript.unreadable), (Ended::Code(0), None));
    }
}

/// A stand-in for torch: everything that is not said here is a thing that can be called and looked into.
const STAND_IN: &str = r#"
class Any:
    def __getattr__(self, name): return Any()
    def __call__(self, *args, **kwargs): return Any()
    def __float__(self): return 3.0

def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return backends if name == "backends" else Any()

class Backend(Any):
    def is_built(self): return BUILT
    def is_available(self): return AVAILABLE

class Backends(Any):
    mps = Backend()

backends = Backends()
"#;

fn stand_in(more: &str) -> Transcript {
    let bare = Bare::new();
    let defaults = "__version__ = '2.13.0'\nBUILT = AVAILABLE = True\n";
    bare.add("torch/__init__.py", &format!("{STAND_IN}\n{defaults}\n{more}\n"));
    bare.add("torch/nn/__init__.py", "");
    bare.add("torch/nn/functional.py", "from torch import Any\ndef __getattr__(name): return Any()\n");
    bare.ask(Framework::Torch, Device::Mps)
}

#[test]
fn our_torch_probe_tells_releases_and_devices_apart() {
    let transcript = stand_in("__version__ = '2.15.0'");
    let transcript = judged(transcript, Word::WrongRelease, 1, "torch 2.15.0 was loaded, and 2.13.0 was to be asked");
    assert!(transcript.device().is_none() && transcript.is_done());
    let refuse = "def ones(*args, **kwargs): raise RuntimeError('The MPS backend is supported on MacOS 13.0+.')";
    // Built and available, it says; the first tensor tells otherwise.
    let named = "torch finds no mps device that it can use";
    let transcript = judged(stand_in(refuse), Word::NoDevice, 2, named);
    let device = transcript.device().unwrap();
    assert_eq!(device.error.as_deref(), Some("RuntimeError: The MPS backend is supported on MacOS 13.0+."));
    assert_eq!((device.built, device.available), (Some(true), false));
    judged(stand_in(&format!("AVAILABLE = False\n{refuse}")), Word::NoDevice, 2, named);
    unbuilt(stand_in(&format!("BUILT = AVAILABLE = False\n{refuse}")));
    let broken = "import ctypes; ctypes.CDLL('libc10-that-is-gone.so')";
    let transcript = judged(stand_in(broken), Word::CannotLoad, 1, "torch cannot be loaded: OSError: ");
    assert!(judge(&transcript).problems[0].sentence.contains("libc10-that-is-gone.so"));
    let named = "the probe was ended by signal 6 (abort) while loading torch";
    judged(stand_in("import os; os.abort()"), Word::Crashed, 1, named);
}

/// What a Mac says of operators, of each outcome one; and what a GPU of NVIDIA's said.
#[test]
fn operators_that_were_tried_elsewhere() {
    let outcomes = |file: &str| -> Vec<(String, Outcome)> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(file);
        let transcript: Transcript = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        tried(&transcript).iter().map(|one| (one.title().replace('`', ""), one.outcome)).collect()
    };
    let mac = outcomes("torch-2.13.0-mps-operators.wrong-numbers.json");
    let expected = [
        ("pad[reflect,2d]", Outcome::Supported),
        ("linalg_cholesky_ex", Outcome::Fallback),
        ("interpolate[bicubic]", Outcome::Supported),
        ("interpolate[bicubic] backward", Outcome::Fallback),
        ("max_pool3d", Outcome::Fails),
        ("bmm", Outcome::Wrong),
        ("_standard_gamma", Outcome::NotTried),
    ];
    assert_eq!(mac, expected.map(|(name, outcome)| (name.to_owned(), outcome)));
    let mut nvidia = outcomes("torch-2.11.0-h200-operators.failed.json");
    nvidia.retain(|(_, outcome)| *outcome != Outcome::Supported);
    let expected = [("histogram", Outcome::Fails), ("aten::_fused_dropout", Outcome::NotTried)];
    assert_eq!(nvidia, expected.map(|(name, outcome)| (name.to_owned(), outcome)));
}

/// What real frameworks answered once, judged again: the word is in the file's name.
#[test]
fn recorded_answers_are_judged_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let transcript: Transcript = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(transcript.source.starts_with("recorded") || transcript.source.starts_with("made"), "{name}");
        let verdict = judge(&transcript);
        let word = name.trim_end_matches(".json").rsplit('.').next().unwrap();
        assert_eq!(verdict.word.as_str(), word, "{name}: {:#?}", verdict.problems);
        // The same answer with one result off by one part in a thousand is wrong.
        if verdict.word == Word::Ok {
            let mut wrong = transcript.clone();
            let checks = wrong.events.iter_mut().filter_map(|event| match event {
                Event::Check(check) if check.element == ElementType::Float32 => Some(check),
                _ => None,
            });
            checks.last().unwrap().max_rel = Some(1e-3);
            assert_eq!(judge(&wrong).word, Word::WrongNumbers, "{name}");
        }
        seen += 1;
    }
    assert!(seen >= 6);
}
