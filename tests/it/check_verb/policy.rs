//! What `--deny` and `--strict` make of a warning about macml.toml: it is no fault of the lock.

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::server::FakeIndex;

#[test]
fn what_is_said_of_the_manifest_is_not_said_of_the_lock() {
    let index = FakeIndex::from_published(&Published::default().with("alpha", "1.0", &[]));
    let project = Project::asking(&index, "14.0", ">=3.12,<=3.13", "[dependencies]\nalpha = \"*\"\n");
    project.run(&["lock"]).says(0, &["narrow-range", "macml.lock written"]);
    let check = |flags: &[&str], verdict: &str, code: i32, severity: &str| {
        let run = project.run(&[&["check", "--output-format", "json"], flags].concat());
        let json = run.json_as("check.schema.json");
        assert_eq!((run.code, &json["verdict"]), (code, &verdict.into()), "{flags:?}");
        let finding = &json["findings"][0];
        assert_eq!((&finding["code"], &finding["severity"]), (&"narrow-range".into(), &severity.into()), "{flags:?}");
        assert_eq!(json["parts"][0]["verdict"], "current", "{flags:?}");
    };
    check(&[], "ok", 0, "warning");
    check(&["--deny", "narrow-range"], "denied", 1, "error");
    check(&["--allow", "narrow-range", "--allow", "wheel-unread"], "ok", 0, "note");
    check(&["--strict"], "strict", 1, "warning");
    // Where nothing but warnings says no, who asked for errors only is told that much.
    project.run(&["check", "--strict", "-q"]).says(1, &["error: check failed: 2 warnings, 1 not looked at (--strict)"]);
}
