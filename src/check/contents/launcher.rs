//! What a command in `bin` imports and calls, whichever installer wrote it. Pure.
//!
//! macml, pip, uv, installer and conda each write another text for the same entry point. They differ in how they cut off
//! endings that files have on Windows, in quotes and in empty lines, and in nothing that matters here.

/// Lines that may stand in one besides what it imports and calls, with double quotes for any: each does nothing where no
/// file is called `*.exe` or `*-script.pyw`.
const OTHERS: [&str; 10] = [
    "import re",
    "import sys",
    "if __name__ == \"__main__\":",
    "sys.argv[0] = re.sub(r\"(-script\\.pyw|\\.exe)?$\", \"\", sys.argv[0])",
    "sys.argv[0] = re.sub(r\"(-script\\.pyw?|\\.exe)?$\", \"\", sys.argv[0])",
    "sys.argv[0] = sys.argv[0].removesuffix(\".exe\")",
    "if sys.argv[0].endswith(\"-script.pyw\"):",
    "sys.argv[0] = sys.argv[0][:-11]",
    "elif sys.argv[0].endswith(\".exe\"):",
    "sys.argv[0] = sys.argv[0][:-4]",
];

/// Reads `module:object` out of the text of a command, its first line left out; `None` for one that may do anything else.
pub(super) fn called(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let (mut imported, mut called) = (None, None);
    for line in text.lines() {
        let line = line.trim().replace('\'', "\"");
        if line.is_empty() || line.starts_with('#') || OTHERS.contains(&line.as_str()) {
            continue;
        }
        // Nothing may follow the call, nor come between it and the import, but what does nothing.
        match (imported.is_some(), called.is_some()) {
            (false, false) => {
                let (module, name) = line.strip_prefix("from ")?.split_once(" import ")?;
                imported = Some((module.to_owned(), name.to_owned()));
            }
            (true, false) => called = Some(line.strip_prefix("sys.exit(")?.strip_suffix("())")?.to_owned()),
            _ => return None,
        }
    }
    let ((module, name), object) = (imported?, called?);
    (object.split('.').next() == Some(&name)).then(|| format!("{module}:{object}"))
}

#[cfg(test)]
mod tests {
    use super::called;

    #[test]
    fn every_installer_writes_the_same_command() {
        let texts = [
            "import sys\n\nfrom pkg.cli import App\n\nif __name__ == \"__main__\":\n    sys.exit(App.run())\n",
            "# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom pkg.cli import App\nif __name__ == '__main__':\n    \
             sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n    sys.exit(App.run())\n",
            "# -*- coding: utf-8 -*-\nimport sys\nfrom pkg.cli import App\nif __name__ == \"__main__\":\n    \
             if sys.argv[0].endswith(\"-script.pyw\"):\n        sys.argv[0] = sys.argv[0][:-11]\n    \
             elif sys.argv[0].endswith(\".exe\"):\n        sys.argv[0] = sys.argv[0][:-4]\n    sys.exit(App.run())\n",
            "import sys\nfrom pkg.cli import App\nif __name__ == '__main__':\n    \
             sys.argv[0] = sys.argv[0].removesuffix('.exe')\n    sys.exit(App.run())\n",
        ];
        for text in texts {
            assert_eq!(called(text.as_bytes()).as_deref(), Some("pkg.cli:App.run"), "{text}");
        }
    }

    #[test]
    fn whatever_else_is_no_such_command() {
        let plain = "import sys\nfrom a import b\nif __name__ == '__main__':\n    sys.exit(b())\n";
        assert!(called(plain.as_bytes()).is_some());
        let edits = [
            ("import sys\n", "import sys\nimport os\n"),
            ("sys.exit(b())", "sys.exit(b(1))"),
            ("sys.exit(b())", "sys.exit(c())"),
            ("sys.exit(b())", "sys.exit(b())\n    print()"),
            ("from a import b", "from a import b; evil()"),
            ("from a import b", "from a import b\nfrom c import b"),
            ("if __name__", "b = 1\nif __name__"),
            ("from a import b\n", ""),
        ];
        for (old, new) in edits {
            assert_eq!(called(plain.replace(old, new).as_bytes()), None, "{new}");
        }
        assert_eq!(called(b"\xff"), None);
    }
}
