//! What happens to a staged tree, as people and programs are told of it: each edit with its package.

use std::fs;
use std::path::PathBuf;

use crate::check_project::environment::NATIVE;
use crate::check_project::environment::native;
use crate::support::macho::Made;
use crate::support::macho::X86_64;
use crate::support::project::Project;

const SITE: &str = "lib/python3.13/site-packages";

#[test]
fn each_edit_is_named_with_its_package() {
    let project = Project::new(&format!(
        "[target]\nchip = \"m1\"\nmacos = \"14.0\"\ngpu = \"optional\"\npython = \"==3.13.*\"\n\
         [dependencies]\nnative = {{ path = \"{NATIVE}\" }}\n"
    ));
    fs::write(project.path().join(NATIVE), native()).unwrap();
    project.run(&["sync", "--offline", "--target", "mac", "--platform", "macos-arm64"]).says(0, &["1 package"]);
    let words = ["check", "--offline", "--target", "mac"];
    project.run(&words).says(0, &["as locked", "2 images of 1 package load together", "check passed"]);

    let path = |name: &str| -> PathBuf { project.path().join("mac").join(SITE).join(name) };
    // Level, code and path of each error; what people read; then all is put back.
    let check = |name: &str, bytes: Option<Vec<u8>>, errors: &[[&str; 3]], parts: &[&str]| {
        let before = fs::read(path(name)).unwrap();
        let time = fs::metadata(path(name)).unwrap().modified().unwrap();
        let put = |bytes: &[u8]| {
            // It may be one with the file in the cache.
            let _ = fs::remove_file(path(name));
            fs::write(path(name), bytes).unwrap();
        };
        match bytes {
            Some(bytes) => put(&bytes),
            None => fs::remove_file(path(name)).unwrap(),
        }
        project.run(&words).says(1, parts);
        let json = project.run(&[&words[..], &["--output-format", "json"]].concat()).json_as("check.schema.json");
        let mut told = Vec::new();
        for part in json["parts"].as_array().unwrap() {
            for one in part["findings"].as_array().unwrap().iter().filter(|one| one["severity"] == "error") {
                assert_eq!(one["package"], "native", "{one:#}");
                let path = one["path"].as_str().unwrap();
                told.push([part["level"].as_str().unwrap(), one["code"].as_str().unwrap(), path].map(str::to_owned));
            }
        }
        assert_eq!((told, &json["exit-code"]), (errors.iter().map(|one| one.map(str::to_owned)).collect(), &1.into()));
        put(&before);
        fs::File::options().append(true).open(path(name)).unwrap().set_modified(time).unwrap();
        project.run(&words).says(0, &["as locked"]);
    };
    let at = |name: &str| format!("{SITE}/{name}");
    let (library, module) = (at("native/libone.dylib"), at("native/deep/plain.py"));
    let edited = ["environment", "file-changed", &module];
    check(
        "native/deep/plain.py",
        Some(b"one = 2\n".to_vec()),
        &[edited],
        &["plain.py` of `native` 1.0 has other bytes"],
    );
    let deleted = ["environment", "file-missing", &module];
    check("native/deep/plain.py", None, &[deleted], &["plain.py` of `native` 1.0 is gone"]);
    let intel = Made { cpu: X86_64, install_name: Some("@rpath/libone.dylib"), ..Made::default() };
    check(
        "native/libone.dylib",
        Some(intel.bytes()),
        &[
            ["environment", "file-changed", &library],
            ["libraries", "wrong-architecture", "native/libone.dylib"],
            ["libraries", "library-missing", "native/_one.so"],
        ],
        &["`native/libone.dylib` of `native` 1.0 is for x86_64 and not for arm64"],
    );
    // No wheel has to be at hand for it: that it was there says the lock.
    check(
        "native/libone.dylib",
        None,
        &[["environment", "file-missing", &library], ["libraries", "library-missing", "native/_one.so"]],
        &[
            "`native/_one.so` of `native` 1.0 needs `libone.dylib`, which `native` 1.0 brought, and which is gone",
            "dyld says: Library not loaded: @loader_path/libone.dylib",
            "1 image of 1 package does not load",
        ],
    );
}
