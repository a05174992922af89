//! Finding a library, what is already loaded, and what is no library at all.

use macml::check::dyld::{Grade, Library, Outside, What};
use macml::check::facts::{Architecture, Dependency, Hook, Image, Kind, Platform, Signature, Unloadable};

use super::made::{World, world};
use crate::support::image;
use crate::support::image::{Made, dylib, made, module};

#[test]
fn beside_the_image_and_along_its_rpaths() {
    let library = dylib("a/lib/libx.dylib");
    let image = |module: Made| world().with("a", [module.image(), library.image()]);
    image(module("a/_c.so").needs("@loader_path/lib/libx.dylib")).check(&[]);
    image(module("a/b/_c.so").needs("@loader_path/../lib/libx.dylib")).check(&[]);
    image(module("a/_c.so").needs("@rpath/libx.dylib").rpath("@loader_path/lib")).check(&[]);
    image(module("a/_c.so").needs("@rpath/libx.dylib").rpath("@loader_path/no").rpath("@loader_path/lib/.")).check(&[]);
    image(module("a/_c.so").needs("/usr/lib/libanything.dylib").needs("/System/Library/Frameworks/X.framework/X"))
        .check(&[]);
}

#[test]
fn from_the_interpreter() {
    let library = dylib("../../../lib/libx.dylib");
    let images = |module: Made| world().with("a", [module.image(), library.image()]);
    images(module("a/_c.so").needs("@executable_path/../lib/libx.dylib")).check(&[]);
    images(module("a/_c.so").needs("@rpath/libx.dylib").rpath("@executable_path/../lib")).check(&[]);
    // A program of the tree is itself that path.
    let program = made("a/bin/protoc", Kind::Executable).needs("@executable_path/../lib/libx.dylib");
    world().with("a", [program.image(), dylib("a/lib/libx.dylib").image()]).check(&[]);
    world()
        .with("a", [program.image(), library.image()])
        .check(&["error: Library not loaded: @executable_path/../lib/libx.dylib | Referenced from: a/bin/protoc | \
         Reason: tried: 'a/lib/libx.dylib' (no such file)"]);
}

#[test]
fn a_dylibs_rpaths_serve_what_it_pulls_in() {
    let images = |top: Made| {
        let first = dylib("a/one/libone.dylib").needs("@rpath/libtwo.dylib").rpath("@loader_path/nowhere");
        [top.image(), first.image(), dylib("a/two/libtwo.dylib").named("x").image()]
    };
    let top = module("a/_c.so").needs("@loader_path/one/libone.dylib");
    world().with("a", images(top.clone().rpath("@loader_path/two"))).check(&[]);
    world()
        .with("a", images(top.clone()))
        .check(&["error: Library not loaded: @rpath/libtwo.dylib | Referenced from: a/one/libone.dylib | \
         Reason: tried: 'a/one/nowhere/libtwo.dylib' (no such file)"]);
    // The nearest comes first.
    let near = dylib("a/one/nowhere/libtwo.dylib");
    let world = world().with("a", images(top.rpath("@loader_path/two")).into_iter().chain([near.image()]));
    world.judged("a/one/libone.dylib", |judged| {
        assert_eq!(judged.libraries, [Library::Image("a/one/nowhere/libtwo.dylib")]);
        assert_eq!(judged.pulled_by, Some("a/_c.so"));
    });
}

/// As `mlx-metal` has them: nobody opens its libraries but `mlx`, along whose folders they find each other.
#[test]
fn what_another_distribution_opens_is_judged_as_that_opens_it() {
    let core = || module("a/core.so").needs("@rpath/libone.dylib").rpath("@loader_path/lib");
    let half = || {
        let one = dylib("a/lib/libone.dylib").needs("@rpath/libtwo.dylib");
        world().with("half", [one.image(), dylib("a/lib/libtwo.dylib").image()])
    };
    half().with("whole", [core().image()]).requires("half").check(&[]);
    // By themselves, and where the other cannot be loaded, they are judged all the same.
    let alone =
        "warning: `@rpath/libtwo.dylib` is found for `a/lib/libone.dylib` only after `a/lib/libtwo.dylib` was loaded";
    half().check(&[alone]);
    let other = core().but(|slice| slice.rpaths.clear());
    half().with("whole", [other.image()]).requires("half").check(&[
        "warning: `@rpath/libone.dylib` is found for `a/core.so` only after `a/lib/libone.dylib` was loaded",
        alone,
    ]);
}

#[test]
fn what_is_named_directly_is_loaded_before_what_those_name() {
    // Searching deeper first would take the copy beside `libone`.
    let one = dylib("a/one/libone.dylib").needs("@rpath/libtwo.dylib").rpath("@loader_path");
    let top = module("a/_c.so").needs("@loader_path/one/libone.dylib").needs("@loader_path/libtwo.dylib");
    let copies = [dylib("a/libtwo.dylib").image(), dylib("a/one/libtwo.dylib").image()];
    let world = world().with("a", [top.image(), one.image()].into_iter().chain(copies));
    world.judged("a/one/libone.dylib", |judged| assert_eq!(judged.libraries, [Library::Image("a/libtwo.dylib")]));
}

/// As `tensorflow-metal` finds TensorFlow: by text alone, and only while the install name is the text.
#[test]
fn the_text_of_an_install_name_is_enough() {
    let plugin = || made("plugins/libp.dylib", Kind::Dylib).needs("@rpath/_big.so").rpath("@loader_path/../_solib");
    let with = |big: Made| world().with("host", [big.image()]).with("plugin", [plugin().image()]).requires("host");
    with(dylib("host/_big.so")).check(&[]);
    let missing = "error: Library not loaded: @rpath/_big.so | Referenced from: plugins/libp.dylib | \
                   Reason: tried: '_solib/_big.so' (no such file)";
    // The leaf name is no match.
    with(dylib("host/_big.so").named("bazel-out/bin/lib_big_16.so")).check(&[missing]);
    with(dylib("host/_big.so").named("@rpath/other/_big.so")).check(&[missing]);
    // Nor has a bundle a name.
    with(dylib("host/_big.so").but(|slice| slice.kind = Kind::Bundle)).check(&[missing]);
    let world = with(dylib("host/_big.so").named("x"));
    world.judged("plugins/libp.dylib", |judged| {
        let [trouble] = &judged.troubles[..] else { panic!("{judged:?}") };
        let brought: Vec<_> = trouble.brought_by.iter().map(|one| (one.image, one.distribution.as_str())).collect();
        assert_eq!(brought, [("host/_big.so", "host")]);
        assert_eq!(judged.libraries, [Library::Missing]);
    });
    // Any other text is one too.
    let absolute = made("p/libp.dylib", Kind::Dylib).needs("/opt/x/libx.dylib").needs("bazel-out/liby.dylib");
    let opener = module("h/_m.so").needs("@loader_path/x.dylib").needs("@loader_path/y.dylib");
    let named =
        [dylib("h/x.dylib").named("/opt/x/libx.dylib"), dylib("h/y.dylib").named("bazel-out/liby.dylib"), opener];
    super::made::world().with("h", named.map(|one| one.image())).with("p", [absolute.image()]).requires("h").check(&[]);
}

#[test]
fn hosts_are_what_is_required_imported_or_plugged_into() {
    let big = dylib("host/_big.so").image();
    let plugin = made("plugins/libp.dylib", Kind::Dylib).needs("@rpath/_big.so").image();
    let base = || world().with("host", [big.clone()]).with("between", []).requires("host");
    let after = ["note: `@rpath/_big.so` is found for `plugins/libp.dylib` only after `host/_big.so` was loaded"];
    let with = |world: World| world.with("plugin", [plugin.clone()]);
    with(base()).check(&after);
    with(base()).requires("host").check(&[]);
    with(base()).requires("between").check(&[]);
    with(base()).imports("host").check(&[]);
    with(base()).imports("between").check(&[]);
    with(base()).imports("elsewhere").check(&after);
    // A circle has no beginning, and ends.
    with(base().requires("plugin")).requires("between").check(&[]);

    let framework = dylib("tensorflow/python/_pywrap_tensorflow_internal.so").image();
    let plugin = made("tensorflow-plugins/libp.dylib", Kind::Dylib).needs("@rpath/_pywrap_tensorflow_internal.so");
    let base = || world().with("tensorflow", [framework.clone()]).with("plugin", [plugin.image()]);
    base().plugs_into(Hook::TensorFlow).check(&[]);
    assert!(matches!(base().0.len(), 2));
    base().simulated(11, |answer| assert_eq!(answer.troubles().count(), 1));
    let plugin = made("jax_plugins/x/x.dylib", Kind::Dylib).needs("@rpath/x.so").image();
    world().with("jaxlib", [dylib("jaxlib/x.so").image()]).with("plugin", [plugin]).plugs_into(Hook::Jax).check(&[]);
}

/// Modules of TensorFlow 2.15 find its largest library in no other way.
#[test]
fn what_is_found_only_after_another_was_loaded() {
    let module = module("a/_c.so").needs("@rpath/libx.dylib");
    let x = dylib("a/libx.dylib");
    let told = |grade: &str| {
        format!("{grade}: `@rpath/libx.dylib` is found for `a/_c.so` only after `a/libx.dylib` was loaded")
    };
    let opener = image::module("a/_b.so").needs("@loader_path/libx.dylib");
    world().with("a", [module.image(), x.image(), opener.image()]).check(&[&told("note")]);
    // Nobody is known to load it.
    world().with("a", [module.image(), x.image()]).check(&[&told("warning")]);
}

#[test]
fn what_was_opened_by_another_has_its_own_rpaths_only() {
    // `libtwo` is taken to have been loaded before, so that the module's rpaths are not on its way.
    let module = module("a/_c.so").needs("@rpath/libtwo.dylib").rpath("@loader_path/three");
    let two = dylib("a/two/libtwo.dylib").needs("@rpath/libthree.dylib");
    world().with("a", [module.image(), two.image(), dylib("a/three/libthree.dylib").named("x").image()]).check(&[
        "warning: `@rpath/libtwo.dylib` is found for `a/_c.so` only after `a/two/libtwo.dylib` was loaded",
        "error: Library not loaded: @rpath/libthree.dylib | Referenced from: a/two/libtwo.dylib | \
         Reason: no LC_RPATH's found",
    ]);
}

#[test]
fn the_old_fallback() {
    let module = |sdk, library: &str| {
        world().with("a", [module("a/_c.so").needs(library).rpath("/Users/builder/lib").sdk(sdk).image()])
    };
    module(13, "@rpath/libc++.1.dylib").check(&[]);
    module(14, "@rpath/libc++.1.dylib")
        .check(&["warning: Library not loaded: @rpath/libc++.1.dylib | Referenced from: a/_c.so | \
         Reason: tried: '/Users/builder/lib/libc++.1.dylib' (no such file)"]);
    // What the system is not known to have, it does not have.
    module(13, "@rpath/libpng16.16.dylib")
        .check(&["warning: Library not loaded: @rpath/libpng16.16.dylib | Referenced from: a/_c.so | \
         Reason: tried: '/Users/builder/lib/libpng16.16.dylib' (no such file)"]);
    world()
        .with("a", [image::module("a/_c.so").needs("/opt/libz.1.dylib").but(|slice| slice.build = None).image()])
        .check(&[]);
    // An rpath may lead to the system.
    let swift = image::module("a/_c.so").needs("@rpath/libswiftCore.dylib").rpath("/usr/lib/swift");
    world().with("a", [swift.image()]).check(&[]);
}

#[test]
fn libraries_from_outside() {
    let check = |module: Made, expected: Outside| {
        let world = world().with("a", [module.image()]);
        world.judged("a/_c.so", |judged| match &judged.troubles[..] {
            [trouble] => {
                assert_eq!(trouble.grade, Grade::Warning);
                assert!(
                    matches!(trouble.what, What::LibraryMissing { outside: Some(outside), .. } if outside == expected),
                    "{trouble:?}"
                );
            }
            troubles => panic!("{troubles:?}"),
        });
    };
    check(module("a/_c.so").needs("@rpath/libavutil.56.dylib"), Outside::Expected);
    check(module("a/_c.so").needs("@rpath/libpng.dylib").rpath("/Users/b/lib"), Outside::BuildMachine);
    check(module("a/_c.so").needs("/opt/local/lib/libpng.dylib"), Outside::BuildMachine);
    check(module("a/_c.so").needs("@rpath/libpng.dylib").rpath("@loader_path"), Outside::Beside);
    check(module("a/_c.so").needs("@loader_path/libpng.dylib"), Outside::Beside);
}

/// LightGBM looks for the OpenMP of Homebrew; that of PyTorch is not its own.
#[test]
fn a_strangers_library_of_the_same_name_is_another_one() {
    let module = |rpath: &str| module("a/_c.so").needs("@rpath/libomp.dylib").rpath(rpath).image();
    let omp = dylib("torch/lib/libomp.dylib").named("/opt/llvm/lib/libomp.dylib").image();
    let with = |rpath: &str| world().with("torch", [omp.clone()]).with("a", [module(rpath)]);
    let check = |world: World, expected: Grade| {
        world.judged("a/_c.so", |judged| {
            let [trouble] = &judged.troubles[..] else { panic!("{judged:?}") };
            assert_eq!(trouble.grade, expected);
            assert_eq!(trouble.brought_by.len(), 1);
        });
    };
    check(with("@loader_path"), Grade::Warning);
    check(with("@loader_path").requires("torch"), Grade::Error);
    check(with("/Users/b/lib").requires("torch"), Grade::Error);
    for place in ["/opt/homebrew/opt/libomp/lib", "/usr/local/lib", "/opt/local/lib/libomp"] {
        check(with(place).requires("torch"), Grade::Warning);
    }
}

#[test]
fn what_may_be_missing() {
    let with = |module: Made| world().with("a", [module.image()]);
    let module = || module("a/_c.so");
    with(module().depends("@rpath/x.dylib", |one| one.weak = true)).check(&[]);
    let world = with(module().depends("@loader_path/x.dylib", |one| one.weak = true).imports_weakly(1, "_x"));
    world.check(&[]);
    world.judged("a/_c.so", |judged| assert_eq!(judged.libraries, [Library::Absent]));
    with(module().depends("@loader_path/x.dylib", |one| one.weak = true).imports(1, &["_x"]))
        .check(&["error: Symbol not found: _x | Referenced from: a/_c.so | Expected in: @loader_path/x.dylib"]);
    // What is re-exported must be there.
    let both = |one: &mut Dependency| (one.weak, one.re_export) = (true, true);
    with(module().depends("@loader_path/x.dylib", both))
        .check(&["warning: Library not loaded: @loader_path/x.dylib | Referenced from: a/_c.so | \
         Reason: tried: 'a/x.dylib' (no such file)"]);
}

#[test]
fn a_file_that_does_not_fit_is_passed_over() {
    let top = || module("a/_c.so").needs("@rpath/libx.dylib").rpath("@loader_path/one").rpath("@loader_path/two");
    let (one, two) = (dylib("a/one/libx.dylib"), dylib("a/two/libx.dylib"));
    let words = "mach-o file, but is an incompatible architecture (have 'x86_64', need 'arm64e' or 'arm64')";
    let refused = format!("error: tried: 'a/one/libx.dylib' ({words})");
    let world = world().with("a", [top().image(), one.broken(Unloadable::Architecture), two.image()]);
    world.check(&[&refused]);
    world.judged("a/_c.so", |judged| assert_eq!(judged.libraries, [Library::Image("a/two/libx.dylib")]));
    let lost = format!(
        "error: Library not loaded: @rpath/libx.dylib | Referenced from: a/_c.so | \
         Reason: tried: 'a/one/libx.dylib' ({words}), 'a/two/libx.dylib' (no such file)"
    );
    super::made::world().with("a", [top().image(), one.broken(Unloadable::Architecture)]).check(&[&lost, &refused]);

    let bundle = made("a/one/libx.dylib", Kind::Bundle);
    super::made::world().with("a", [top().image(), bundle.image()]).check(&[
        "error: Library not loaded: @rpath/libx.dylib | Referenced from: a/_c.so | Reason: tried: 'a/one/libx.dylib' \
         (cannot link against bundle 'a/one/libx.dylib'), 'a/two/libx.dylib' (no such file)",
    ]);
    let program = made("a/one/libx.dylib", Kind::Executable);
    super::made::world().with("a", [top().image(), program.image(), two.image()]).check(&[]);
    let object = made("a/one/libx.dylib", Kind::Other(1));
    super::made::world().with("a", [top().image(), object.image(), two.image()]).check(&[]);
    super::made::world().with("a", [top().image(), object.image()]).check(&[
        "error: Library not loaded: @rpath/libx.dylib | Referenced from: a/_c.so | Reason: tried: 'a/one/libx.dylib' \
         (unloadable mach-o file type 1 'a/one/libx.dylib'), 'a/two/libx.dylib' (no such file)",
    ]);
}

#[test]
fn images_that_are_wrong_by_themselves() {
    let with = |image: Image| world().with("a", [image]);
    let module = module("a/_c.so");
    let mut fat = module.broken(Unloadable::Architecture);
    fat.architectures = vec![Architecture::X86_64, Architecture::Arm64e];
    with(fat)
        .check(&["error: tried: 'a/_c.so' (fat file, but missing compatible architecture (have 'x86_64,arm64e', \
         need 'arm64e' or 'arm64'))"]);
    let mut short = module.broken(Unloadable::Architecture);
    short.slice = Err(Unloadable::Malformed("a segment reaches over its end".to_owned()));
    with(short).check(&["error: tried: 'a/_c.so' (not a valid mach-o file: a segment reaches over its end)"]);
    let signed = |signature: Signature| with(module.clone().but(|slice| slice.signature = signature).image());
    signed(Signature::Absent).check(&["error: code signature in 'a/_c.so' not valid for use in process"]);
    signed(Signature::Broken(4096))
        .check(&["error: 'a/_c.so': Termination Reason: Namespace CODESIGNING, Code 2, Invalid Page"]);
    signed(Signature::Unread).check(&[]);
    signed(Signature::Unusable("sha1 only".to_owned()))
        .check(&["unverifiable: code signature in 'a/_c.so' not valid for use in process"]);
    let phone = module.clone().but(|slice| slice.build.as_mut().unwrap().platform = Platform::Other(2));
    with(phone.image()).check(&[
        "error: tried: 'a/_c.so' (mach-o file (a/_c.so), but incompatible platform (have 'iOS', need 'macOS'))",
    ]);
}

#[test]
fn an_image_that_differs_between_processes_says_so() {
    // Both modules load `libtwo`, each by its own rpath, through a library without one.
    let one = dylib("a/libone.dylib").needs("@rpath/libtwo.dylib");
    let module = |name: &str, rpath: &str| {
        module(&format!("a/{name}.so")).needs("@loader_path/libone.dylib").rpath(rpath).image()
    };
    let modules = [module("_a", "@loader_path/a"), module("_b", "@loader_path/b")];
    let copies = [dylib("a/a/libtwo.dylib").image(), dylib("a/b/libtwo.dylib").image()];
    world()
        .with("a", modules.into_iter().chain(copies).chain([one.image()]))
        .check(&["note: `@rpath/libtwo.dylib` is not the same image for `a/libone.dylib` in every process"]);
}

#[test]
fn images_that_need_each_other_end() {
    let one = dylib("a/libone.dylib").needs("@loader_path/libtwo.dylib").imports(1, &["_two"]).exports(&["_one"]);
    let two = dylib("a/libtwo.dylib").depends("@loader_path/libone.dylib", |one| one.upward = true);
    world().with("a", [one.image(), two.imports(1, &["_one"]).exports(&["_two"]).image()]).check(&[]);
    let own = dylib("a/libx.dylib").needs("@loader_path/libx.dylib").imports(1, &["_x"]).exports(&["_x"]);
    world().with("a", [own.image()]).check(&[]);
}
