//! Tag lists, ranks and misfits.

use crate::pep::Tags;
use crate::pep::WheelName;
use crate::pep::tag::Misfit;
use crate::pep::tag::linux_platforms;
use crate::pep::tag::mac_platforms;

fn wheel(tags: &str) -> WheelName {
    format!("foo-1-{tags}.whl").parse().unwrap()
}

#[test]
fn macs() {
    let list = mac_platforms((14, 5));
    assert_eq!(list[..3], ["macosx_14_0_arm64", "macosx_14_0_universal2", "macosx_13_0_arm64"]);
    assert_eq!(list.len(), 4 * 2 + 13);
    assert_eq!(list[8..10], ["macosx_10_16_universal2", "macosx_10_15_universal2"]);
    assert_eq!(list.last().map(String::as_str), Some("macosx_10_4_universal2"));
    let newest = mac_platforms((27, 0));
    assert!(
        ["macosx_27_0_arm64", "macosx_26_0_arm64", "macosx_20_0_arm64"]
            .iter()
            .all(|tag| newest.contains(&(*tag).to_owned()))
    );
}

#[test]
fn linuxes() {
    let list = linux_platforms((2, 28), "x86_64");
    assert_eq!(list[..2], ["linux_x86_64", "manylinux_2_28_x86_64"]);
    let at = |tag: &str| list.iter().position(|one| one == tag).unwrap();
    assert_eq!(at("manylinux2014_x86_64"), at("manylinux_2_17_x86_64") + 1);
    assert_eq!(list.last().map(String::as_str), Some("manylinux1_x86_64"));
    assert_eq!(linux_platforms((2, 28), "aarch64").last().map(String::as_str), Some("manylinux2014_aarch64"));
}

#[test]
fn better_tags_come_first() {
    let tags = Tags::cpython((3, 13), &mac_platforms((14, 0)));
    let ranks: Vec<Option<u32>> = [
        "cp313-cp313-macosx_14_0_arm64",
        "cp313-cp313-macosx_11_0_arm64",
        "cp313-cp313-macosx_10_9_universal2",
        "cp313-abi3-macosx_14_0_arm64",
        "cp313-none-macosx_11_0_arm64",
        "cp39-abi3-macosx_14_0_arm64",
        "cp38-abi3-macosx_14_0_arm64",
        "py313-none-macosx_11_0_arm64",
        "py3-none-macosx_11_0_arm64",
        "py312-none-macosx_11_0_arm64",
        "cp313-none-any",
        "py313-none-any",
        "py3-none-any",
        "py312-none-any",
        "py30-none-any",
    ]
    .iter()
    .map(|tags_of| tags.rank(&wheel(tags_of)))
    .collect();
    assert!(ranks.iter().all(Option::is_some) && ranks.is_sorted(), "{ranks:?}");
    assert_eq!(ranks[0], Some(0));
    assert_eq!(tags.rank(&wheel("py2.py3-none-any")), tags.rank(&wheel("py3-none-any")));
    assert_eq!(tags.rank(&wheel("cp313-cp313-macosx_10_9_x86_64.macosx_14_0_arm64")), Some(0));
}

#[test]
fn what_does_not_fit() {
    let tags = Tags::cpython((3, 13), &mac_platforms((14, 0)));
    let check = |tags_of: &str, expected: Misfit| {
        let wheel = wheel(tags_of);
        assert_eq!((tags.rank(&wheel), tags.misfit(&wheel)), (None, expected), "{tags_of}");
    };
    let python = |text: &str| Misfit::Python(text.to_owned());
    let platform = |text: &str| Misfit::Platform(text.to_owned());
    check("cp312-cp312-macosx_14_0_arm64", python("cp312"));
    check("cp313-cp313t-macosx_14_0_arm64", python("cp313-cp313t"));
    check("cp314-abi3-macosx_14_0_arm64", python("cp314-abi3"));
    check("py2-none-any", python("py2"));
    check("cp313-cp313-macosx_15_0_arm64", platform("macosx_15_0_arm64"));
    check("cp313-cp313-macosx_13_3_arm64", platform("macosx_13_3_arm64"));
    check("cp39-abi3-win_amd64.win32", platform("win_amd64.win32"));
    check("cp313-cp313-any", platform("any"));
    check("cp312-none-any", python("cp312"));
}
