//! Compilers and the tools around them, told by files alone: on a Mac without tools, starting `clang` opens a window.

use crate::doctor::Facts;
use crate::doctor::facts::Tools;
use crate::host::Processor;
use crate::sys::fs;
use crate::sys::fs::Kind;
use crate::sys::tree;

use super::Look;
use super::plist::Plist;

const COMMAND_LINE_TOOLS: &str = "/Library/Developer/CommandLineTools";

/// What the tools leave when they are installed.
const RECEIPT: &str = "/var/db/receipts/com.apple.pkg.CLTools_Executables.plist";

/// Where an Xcode keeps its compilers, below its developer folder.
const TOOLCHAIN: &str = "Toolchains/XcodeDefault.xctoolchain/usr/bin";

/// Since this Xcode the compiler of shaders comes apart, and what is in its place only says so:
/// <https://github.com/actions/runner-images/issues/13080>.
const METAL_APART: u32 = 26;

/// Where it comes apart: what was downloaded, and where that is mounted.
const METAL_ASSETS: &str = "/System/Library/AssetsV2/com_apple_MobileAsset_MetalToolchain";
const METAL_MOUNTS: &str = "/var/run/com.apple.security.cryptexd/mnt";

/// What there is once Rosetta is installed.
const ROSETTA: [&str; 2] =
    ["/Library/Apple/usr/libexec/oah/libRosettaRuntime", "/Library/Apple/usr/share/rosetta/rosetta"];

/// How much of a property list is read.
const MOST: u64 = 1 << 20;

/// Looks for compilers.
pub(super) fn tools(look: &Look<'_>, facts: &mut Facts) {
    facts.tools = match look.is_mac() {
        true => of_mac(look),
        false => Tools { compiler: compiler(look), ..Tools::default() },
    };
}

fn of_mac(look: &Look<'_>) -> Tools {
    let file = |path: &str| matches!(fs::kind(&look.at(path)), Ok(Some(Kind::File)));
    let developer_dir = developer_dir(look);
    let works = developer_dir
        .as_ref()
        .map(|folder| file(&format!("{folder}/usr/bin/clang")) || file(&format!("{folder}/{TOOLCHAIN}/clang")));
    let receipt = fs::read_start(&look.at(RECEIPT), MOST).ok().flatten().and_then(|bytes| Plist::read(&bytes));
    let command_line_tools = file(&format!("{COMMAND_LINE_TOOLS}/usr/bin/clang"));
    let version = receipt.as_ref().and_then(|receipt| receipt.get("PackageVersion")?.text()).map(str::to_owned);
    let xcodes = xcodes(look);
    let apple = look.host.is_none_or(|host| host.processor() != Processor::Foreign);
    Tools {
        developer_dir_works: works,
        command_line_tools: Some(command_line_tools),
        // The receipt stays when somebody removes the folder.
        command_line_tools_version: version.filter(|_| command_line_tools),
        metal_toolchain: Some(metal_toolchain(look, developer_dir.as_deref(), &xcodes)),
        rosetta: apple.then(|| ROSETTA.iter().any(|path| file(path))),
        developer_dir,
        xcodes,
        compiler: None,
    }
}

/// Returns the folder that tools are taken from, in the order in which `xcode-select` has it.
fn developer_dir(look: &Look<'_>) -> Option<String> {
    let folder = |path: &str| matches!(fs::kind(&look.at(path)), Ok(Some(Kind::Folder)));
    if let Some(named) = look.env.get("DEVELOPER_DIR") {
        // An Xcode may be named instead of the folder in it.
        let inner = format!("{}/Contents/Developer", named.trim_end_matches('/'));
        return Some(if folder(&inner) { inner } else { named.to_owned() });
    }
    let link = tree::read_link(&look.at("/var/db/xcode_select_link")).ok().flatten();
    let usual =
        || ["/Applications/Xcode.app/Contents/Developer", COMMAND_LINE_TOOLS].into_iter().find(|path| folder(path));
    link.map(|link| link.to_string_lossy().into_owned()).or_else(|| usual().map(str::to_owned))
}

/// Lists Xcodes in `/Applications`.
fn xcodes(look: &Look<'_>) -> Vec<String> {
    let names = fs::names(&look.at("/Applications")).unwrap_or_default();
    let xcodes = names.into_iter().filter(|name| name.starts_with("Xcode") && name.ends_with(".app"));
    let paths = xcodes.map(|name| format!("/Applications/{name}"));
    paths.filter(|path| matches!(fs::kind(&look.at(path).join("Contents/Developer")), Ok(Some(Kind::Folder)))).collect()
}

/// Returns whether there is a compiler of shaders, in an Xcode or apart.
fn metal_toolchain(look: &Look<'_>, developer_dir: Option<&str>, xcodes: &[String]) -> bool {
    let some = |folder: &str, fits: &dyn Fn(&str) -> bool| {
        fs::names(&look.at(folder)).is_ok_and(|names| names.iter().any(|name| fits(name)))
    };
    let apart = some(METAL_ASSETS, &|name| name.ends_with(".asset"))
        || some(METAL_MOUNTS, &|name| name.starts_with("com.apple.MobileAsset.MetalToolchain"));
    let used = developer_dir.and_then(|folder| folder.strip_suffix("/Contents/Developer")).map(str::to_owned);
    apart || xcodes.iter().chain(&used).any(|xcode| has_metal(look, xcode))
}

fn has_metal(look: &Look<'_>, xcode: &str) -> bool {
    let there = |path: &str| matches!(fs::kind(&look.at(xcode).join(path)), Ok(Some(Kind::File)));
    let version = || fs::read_start(&look.at(xcode).join("Contents/version.plist"), MOST).ok()?;
    let version = version().and_then(|bytes| Plist::read(&bytes));
    let version = version.as_ref().and_then(|version| version.get("CFBundleShortVersionString")?.text());
    let number = version.and_then(|text| text.split('.').next()?.parse::<u32>().ok());
    number.is_some_and(|number| number < METAL_APART) && there(&format!("Contents/Developer/{TOOLCHAIN}/metal"))
}

/// Finds a compiler on PATH.
fn compiler(look: &Look<'_>) -> Option<String> {
    let folders = || look.env.get("PATH").unwrap_or_default().split(':').filter(|folder| folder.starts_with('/'));
    let path = |name: &str| {
        folders()
            .map(|folder| format!("{folder}/{name}"))
            .find(|path| matches!(fs::kind(&look.at(path)), Ok(Some(Kind::File))))
    };
    ["cc", "gcc", "clang"].into_iter().find_map(path)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Laid;
    use super::*;

    const XCODE: &str = "Applications/Xcode.app/Contents";

    fn version(version: &str) -> String {
        format!("<plist><dict><key>CFBundleShortVersionString</key><string>{version}</string></dict></plist>")
    }

    #[test]
    fn a_mac_with_the_small_tools_alone() {
        let receipt = "<plist><dict><key>PackageVersion</key><string>26.1.0.0.1</string></dict></plist>";
        let clang = "Library/Developer/CommandLineTools/usr/bin/clang";
        let laid = Laid::mac(&[(clang, ""), (&RECEIPT[1..], receipt), (&ROSETTA[0][1..], "")]);
        let found = laid.look(&[], tools).tools;
        assert_eq!(found.developer_dir.as_deref(), Some(COMMAND_LINE_TOOLS));
        assert_eq!((found.developer_dir_works, found.command_line_tools), (Some(true), Some(true)));
        assert_eq!(found.command_line_tools_version.as_deref(), Some("26.1.0.0.1"));
        assert_eq!((found.metal_toolchain, found.rosetta), (Some(false), Some(true)));
        assert!(found.xcodes.is_empty() && found.compiler.is_none());
    }

    /// Bug report R20: an update took the tools and left the link.
    #[test]
    fn r20_a_link_to_tools_that_are_gone() {
        let laid = Laid::mac(&[(&RECEIPT[1..], "bplist00")]);
        laid.link(COMMAND_LINE_TOOLS, "var/db/xcode_select_link");
        let found = laid.look(&[], tools).tools;
        assert_eq!(found.developer_dir.as_deref(), Some(COMMAND_LINE_TOOLS));
        assert_eq!((found.developer_dir_works, found.command_line_tools), (Some(false), Some(false)));
        assert_eq!((found.command_line_tools_version, found.rosetta), (None, Some(false)));
        // With nothing at all there is no folder to name.
        let found = Laid::mac(&[]).look(&[], tools).tools;
        assert_eq!((found.developer_dir, found.developer_dir_works), (None, None));
    }

    #[test]
    fn the_compiler_of_shaders_is_apart_since_xcode_26() {
        let metal = format!("{XCODE}/Developer/{TOOLCHAIN}/metal");
        let clang = format!("{XCODE}/Developer/{TOOLCHAIN}/clang");
        let plist = format!("{XCODE}/version.plist");
        let check = |number: &str, apart: &str, expected: bool| {
            let laid = Laid::mac(&[(&metal, ""), (&clang, ""), (&plist, &version(number)), (apart, "")]);
            let found = laid.look(&[("DEVELOPER_DIR", "/Applications/Xcode.app/")], tools).tools;
            assert_eq!(found.developer_dir.as_deref(), Some("/Applications/Xcode.app/Contents/Developer"));
            assert_eq!((found.developer_dir_works, found.metal_toolchain), (Some(true), Some(expected)), "{number}");
            assert_eq!(found.xcodes, ["/Applications/Xcode.app"]);
        };
        check("16.4", "x", true);
        check("26.0.1", "x", false);
        check("26.0.1", &format!("{}/4ab0.asset/Info.plist", &METAL_ASSETS[1..]), true);
        check("26.2", &format!("{}/com.apple.MobileAsset.MetalToolchain-v17.1/x", &METAL_MOUNTS[1..]), true);
    }

    #[test]
    fn elsewhere_a_compiler_is_looked_for_on_path() {
        let laid = Laid::new(&[("opt/bin/gcc", ""), ("usr/bin/clang", "")]);
        let compiler = |path: &str| laid.look(&[("PATH", path)], tools).tools.compiler;
        assert_eq!(compiler("bin:/usr/bin:/opt/bin").as_deref(), Some("/opt/bin/gcc"));
        assert_eq!(compiler("/usr/bin").as_deref(), Some("/usr/bin/clang"));
        assert_eq!(compiler(""), None);
    }
}
