//! Finding a name, and how much it weighs that it is not found.

use macml::check::facts::{Exports, Hook, Kind, ReExport};

use super::made::world;
use crate::support::image;
use crate::support::image::{Made, dylib, made, module};

fn missing(name: &str, from: &str, place: &str) -> String {
    format!("error: Symbol not found: {name} | Referenced from: {from} | Expected in: {place}")
}

/// Two levels: it is not enough that some library has it.
#[test]
fn the_right_library_must_have_it() {
    let module = |name: &str| module("a/_c.so").needs("@loader_path/libx.dylib").imports(1, &[name]);
    let x = dylib("a/libx.dylib").needs("@loader_path/liby.dylib").exports(&["_x"]);
    let y = dylib("a/liby.dylib").exports(&["_y"]);
    let with = |module: Made| world().with("a", [module.image(), x.image(), y.image()]);
    with(module("_x")).check(&[]);
    let world = with(module("_y"));
    world.check(&[&missing("_y", "a/_c.so", "a/libx.dylib")]);
    world.judged("a/_c.so", |judged| {
        let brought: Vec<_> = judged.troubles[0].brought_by.iter().map(|one| one.image).collect();
        assert_eq!(brought, ["a/liby.dylib"]);
    });
    with(module("_x").imports_weakly(1, "_z")).check(&[]);
    // Whoever opens it asks for all at once.
    with(module("_x").imports_lazily(1, "_z")).check(&[&missing("_z", "a/_c.so", "a/libx.dylib")]);
    with(module("_x").imports(2, &["_z"])).check(&["error: unknown library ordinal 2 in a/_c.so when binding '_z'"]);
    with(module("_x").imports(-7, &["_z"])).check(&["error: unknown library ordinal -7 in a/_c.so when binding '_z'"]);
}

#[test]
fn what_a_library_re_exports_counts_as_its_own() {
    let module = |name: &str| module("a/_c.so").needs("@loader_path/libx.dylib").imports(1, &[name]).image();
    let x = || dylib("a/libx.dylib").depends("@loader_path/liby.dylib", |one| one.re_export = true);
    let y = dylib("a/liby.dylib").depends("@loader_path/libx.dylib", |one| one.re_export = true).exports(&["_y"]);
    let with = |name: &str, x: Made| world().with("a", [module(name), x.image(), y.image()]);
    with("_y", x()).check(&[]);
    with("_z", x()).check(&[&missing("_z", "a/_c.so", "a/libx.dylib")]);
    // A single name, under its own or another.
    let single = |name: &str, ordinal| {
        let export = ReExport { ordinal, name: name.to_owned() };
        let exports = Exports::Names([("_z".to_owned(), Some(export))].into());
        dylib("a/libx.dylib").needs("@loader_path/liby.dylib").but(|slice| slice.exports = exports)
    };
    with("_z", single("_y", 1)).check(&[]);
    with("_z", single("", 1)).check(&[&missing("_z", "a/_c.so", "a/libx.dylib")]);
    with("_z", single("_y", 2)).check(&[&missing("_z", "a/_c.so", "a/libx.dylib")]);
    with("_z", single("_y", 0)).check(&[&missing("_z", "a/_c.so", "a/libx.dylib")]);
}

#[test]
fn the_system_is_taken_to_have_it() {
    let module =
        module("a/_c.so").needs("/usr/lib/libSystem.B.dylib").imports(1, &["_malloc"]).imports(1, &["_no_such_thing"]);
    let world = world().with("a", [module.image()]);
    world.check(&[]);
    world.simulated(11, |answer| assert_eq!((answer.decided, answer.assumed), (0, 2)));
}

#[test]
fn in_the_image_itself() {
    let with = |exports: &[&str]| world().with("a", [module("a/_c.so").imports(0, &["_x"]).exports(exports).image()]);
    with(&["_x"]).check(&[]);
    with(&[]).check(&[&missing("_x", "a/_c.so", "a/_c.so")]);
}

#[test]
fn names_of_the_interpreter() {
    let with = |ordinal, name: &str| world().with("a", [module("a/_c.so").imports(ordinal, &[name]).image()]);
    let flat = |grade: &str, name: &str| format!("{grade}: symbol not found in flat namespace '{name}'");
    for ordinal in [-1, -2] {
        with(ordinal, "_PyObject_GetAttr").check(&[]);
        with(ordinal, "__Py_NoneStruct").check(&[]);
    }
    // An extension for another minor.
    with(-2, "_PyUnicode_AsUnicode").check_with(11, &[]);
    with(-2, "_PyUnicode_AsUnicode").check_with(12, &[&flat("error", "_PyUnicode_AsUnicode")]);
    with(-1, "_PyUnicode_AsUnicode").check_with(12, &[&missing("_PyUnicode_AsUnicode", "a/_c.so", "unknown")]);
    // A minor of which nothing is known.
    with(-2, "_PyObject_GetAttr").check_with(29, &[&flat("unverifiable", "_PyObject_GetAttr")]);
    with(-2, "_malloc").check_with(29, &[]);
    // It looks like one, and is nobody's.
    with(-2, "_PyTorch_Thing").check(&[&flat("unverifiable", "_PyTorch_Thing")]);
    // A program has no interpreter.
    let program = made("a/bin/x", Kind::Executable).imports(-1, &["_own"]).exports(&["_own"]);
    world().with("a", [program.image()]).check(&[]);
}

#[test]
fn flat_names_by_what_they_are() {
    let with = |name: &str| {
        let host = dylib("host/libx.dylib").exports(&["_TF_NewStatus"]);
        world().with("host", [host.image()]).with("a", [module("a/_c.so").imports(-2, &[name]).image()])
    };
    let check = |name: &str, expected: &str| {
        let told = format!("{expected}: symbol not found in flat namespace '{name}'");
        with(name).check(
            if expected.is_empty() { &[] } else { std::slice::from_ref(&told) }
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .as_slice(),
        );
    };
    check("__ZN3tsl8internal10LogMessageC1EPKcii", "error");
    check("__ZN3c105ErrorC1Ev", "error");
    check("_TF_AssignUpdateVariable", "error");
    check("_TF_NewStatus", "error");
    check("_TFE_Other", "unverifiable");
    check("_vImageCopyBuffer2", "unverifiable");
    check("__ZNSt3__14nope9not_thereEv", "unverifiable");
    check("_objc_any_thing", "");
    check("_OBJC_CLASS_$_NSAnyThing", "");
    check("_malloc", "");
}

#[test]
fn flat_names_in_what_is_loaded() {
    let module = |name: &str| module("a/_c.so").imports(-2, &[name]).image();
    let opened =
        || made("host/libopened.dylib", Kind::Dylib).needs("@loader_path/libpulled.dylib").exports(&["_h_opened"]);
    let pulled = dylib("host/libpulled.dylib").exports(&["_h_pulled"]);
    let imported = image::module("host/_m.so").exports(&["_h_imported"]);
    let with = |name: &str| {
        let host = [opened().image(), pulled.image(), imported.image()];
        world().with("host", host).with("a", [module(name)])
    };
    let error = |name: &str| format!("error: symbol not found in flat namespace '{name}'");
    with("_h_pulled").requires("host").check(&[]);
    with("_h_imported").requires("host").check(&[]);
    // What `ctypes` opens is hidden; what it pulls in is not.
    with("_h_opened").requires("host").check(&[&error("_h_opened")]);
    // Nothing of the host is loaded.
    with("_h_pulled").check(&[&error("_h_pulled")]);
    // An image finds its own, though it is hidden.
    world().with("a", [opened().imports(-2, &["_h_opened"]).image(), dylib("host/libpulled.dylib").image()]).check(&[]);
    // Modules of one distribution find each other in the right order only.
    world()
        .with("a", [module("_h_other"), image::module("a/_d.so").exports(&["_h_other"]).image()])
        .check(&["unverifiable: symbol not found in flat namespace '_h_other'"]);
}

/// TensorFlow hides its largest library, whoever needs it later.
#[test]
fn what_a_framework_hides() {
    let internal = dylib("tensorflow/python/_pywrap_tensorflow_internal.so")
        .needs("@loader_path/libframework.dylib")
        .exports(&["_PyInit__pywrap_tensorflow_internal", "_TF_Hidden"]);
    let other = module("tensorflow/_a.so").needs("@rpath/_pywrap_tensorflow_internal.so");
    let framework = dylib("tensorflow/python/libframework.dylib").exports(&["_TF_Seen"]);
    let plugin = |name: &str| made("tensorflow-plugins/libp.dylib", Kind::Dylib).imports(-2, &[name]).image();
    let with = |name: &str| {
        world()
            .with("tensorflow", [internal.image(), other.image(), framework.image()])
            .with("plugin", [plugin(name)])
            .plugs_into(Hook::TensorFlow)
    };
    let note = "note: `@rpath/_pywrap_tensorflow_internal.so` is found for `tensorflow/_a.so` only after \
                `tensorflow/python/_pywrap_tensorflow_internal.so` was loaded";
    with("_TF_Seen").check(&[note]);
    with("_TF_Hidden").check(&["error: symbol not found in flat namespace '_TF_Hidden'", note]);
}

#[test]
fn weak_lookups() {
    let module = |name: &str| module("a/_c.so").needs("@loader_path/libx.dylib").imports(-3, &[name]);
    let with =
        |module: Made| world().with("a", [module.image(), dylib("a/libx.dylib").exports(&["__ZN1x1yEv"]).image()]);
    with(module("__ZN1x1yEv").chained()).check(&[]);
    with(module("__ZTISt12length_error").chained()).check(&[]);
    with(module("__Znwm").chained()).check(&[]);
    with(module("__ZN1x1zEv").chained()).check(&["error: Symbol not found: __ZN1x1zEv | Referenced from: a/_c.so | \
         Expected as weak-def export from some loaded dylib"]);
    with(module("__ZN1x1zEv").exports(&["__ZN1x1zEv"]).chained()).check(&[]);
    // With opcodes the plain bind remains.
    with(module("__ZN1x1zEv")).check(&[]);
}

#[test]
fn names_where_a_library_is_missing() {
    let module = |library: &str| {
        module("a/_c.so")
            .needs(library)
            .needs("@loader_path/libx.dylib")
            .imports(1, &["_behind"])
            .imports(2, &["_no"])
            .image()
    };
    let with = |library: &str| world().with("a", [module(library), dylib("a/libx.dylib").image()]);
    with("@loader_path/no.dylib")
        .check(&["warning: Library not loaded: @loader_path/no.dylib | Referenced from: a/_c.so | \
         Reason: tried: 'a/no.dylib' (no such file)"]);
    // Where the tree has it elsewhere, one reads what else is wrong.
    with("@loader_path/b/libx.dylib").check(&[
        "error: Library not loaded: @loader_path/b/libx.dylib | Referenced from: a/_c.so | \
         Reason: tried: 'a/b/libx.dylib' (no such file)",
        &missing("_no", "a/_c.so", "a/libx.dylib"),
    ]);
}
