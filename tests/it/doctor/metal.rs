//! The word by which macml asks itself for the devices of Metal: wherever it runs, it answers at once and ends well.

use std::process::Command;

use macml::pipeline::doctor::METAL_WORD;

#[test]
fn the_question_is_answered_by_the_binary() {
    let output = Command::new(env!("CARGO_BIN_EXE_macml")).arg(METAL_WORD).env_clear().output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{told}");
    match cfg!(target_os = "macos") {
        true => assert!(told.ends_with("end\n"), "{told}"),
        false => assert_eq!(told, "error there is no Metal on this system\n"),
    }
}
