//! Cases that are hard on purpose: small numbers that meet, odd spellings, and now and then a wrong character.

use serde_json::Value;
use serde_json::json;

/// A generator that gives the same cases on every machine.
pub(super) struct Generator {
    state: u64,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// Inserts, removes or replaces a character in one text of `rarity`.
    fn spoil(&mut self, text: String, rarity: usize) -> String {
        const CHARACTERS: [&str; 32] = [
            " ", "\t", ".", ",", ";", "*", "=", "!", "<", ">", "~", "(", ")", "[", "]", "@", "'", "\"", "-", "_", "+",
            "a", "d", "v", "0", "1", "9", "in", "or", "and", "not", "#",
        ];
        if text.is_empty() || !self.one_in(rarity) {
            return text;
        }
        let mut chars: Vec<char> = text.chars().collect();
        let at = self.below(chars.len());
        let what = self.pick(&CHARACTERS);
        match self.below(3) {
            0 => drop(chars.remove(at)),
            1 => drop(chars.splice(at..at, what.chars()).count()),
            _ => drop(chars.splice(at..=at, what.chars()).count()),
        }
        chars.into_iter().collect()
    }

    pub(super) fn case(&mut self, kind: &str) -> Value {
        match kind {
            "compare" => {
                let (a, b) = (self.odd_version(), self.odd_version());
                json!({ "kind": kind, "a": self.spoil(a, 20), "b": b })
            }
            "specifier" => {
                let specifiers = self.specifiers();
                let versions: Vec<String> = (0..8).map(|_| self.version()).collect();
                json!({ "kind": kind, "s": self.spoil(specifiers, 20), "v": versions })
            }
            "marker" => {
                let marker = self.marker(3);
                json!({ "kind": kind, "m": self.spoil(marker, 25), "envs": self.environments() })
            }
            "requirement" => {
                let requirement = self.requirement();
                json!({ "kind": kind, "r": self.spoil(requirement, 12) })
            }
            "wheel" => {
                let wheel = self.wheel();
                json!({ "kind": kind, "w": self.spoil(wheel, 12) })
            }
            _ => panic!("no kind `{kind}`"),
        }
    }

    fn release(&mut self) -> String {
        self.pick(&[
            "0",
            "1",
            "1",
            "1.0",
            "1.0.0",
            "1.1",
            "1.2",
            "1.2",
            "1.2.0",
            "1.2.3",
            "1.10",
            "2",
            "2.0",
            "300.1",
            "1.0.0.0.1",
            "2024.1.300",
        ])
        .to_owned()
    }

    /// A version in normal form.
    fn version(&mut self) -> String {
        let epoch = self.pick(&["", "", "", "", "", "", "1!"]);
        let release = self.release();
        let pre = self.pick(&["", "", "", "a0", "a1", "b1", "rc1", "rc2", "rc70"]);
        let post = self.pick(&["", "", "", ".post0", ".post1", ".post300"]);
        let dev = self.pick(&["", "", "", ".dev0", ".dev1", ".dev300"]);
        let local = self.pick(&["", "", "", "+x", "+1", "+1.x", "+cu121", "+2"]);
        format!("{epoch}{release}{pre}{post}{dev}{local}")
    }

    /// A version as people write it.
    fn odd_version(&mut self) -> String {
        if self.one_in(2) {
            return self.version();
        }
        let lead = self.pick(&["", "", "v", "V", " ", "\t", "0!", "01!"]);
        let release = self.pick(&["1", "01", "1.00", "1.2", "1.2.3", "1.02.003", "20240101", "1.2.3.4.5"]);
        let pre = self.pick(&["", "", "a", "-alpha-1", "_beta.2", ".c3", "PREVIEW4", "pre", "RC.01", "b_0"]);
        let post = self.pick(&["", "", "-1", "-0", ".rev2", "r3", "_POST-4", "post", "-r-5"]);
        let dev = self.pick(&["", "", "dev", "-dev-1", "_DEV_2", ".dev03"]);
        let local = self.pick(&["", "", "", "+A", "+1-2_x", "+0a", "+01", "+abc.001", "+ubuntu-1"]);
        let trail = self.pick(&["", "", "", " ", "\n"]);
        format!("{lead}{release}{pre}{post}{dev}{local}{trail}")
    }

    fn specifier(&mut self) -> String {
        let operator = self.pick(&["==", "==", "!=", "<", "<=", ">", ">", ">=", "~=", "~=", "==*", "!=*", "==="]);
        let blank = self.pick(&["", "", " "]);
        let version = if self.one_in(8) { self.odd_version().trim().to_owned() } else { self.version() };
        let public = version.split('+').next().unwrap_or_default().to_owned();
        match operator {
            "==" | "!=" | "===" => format!("{operator}{blank}{version}"),
            "==*" | "!=*" => format!("{}{blank}{}.*", &operator[..2], self.release()),
            // Rarely what the operator does not allow.
            _ if self.one_in(30) => format!("{operator}{blank}{version}"),
            _ => format!("{operator}{blank}{public}"),
        }
    }

    fn specifiers(&mut self) -> String {
        let count = [1, 1, 1, 2, 2, 3, 0][self.below(7)];
        if self.one_in(200) {
            return self.pick(&["*", " * "]).to_owned();
        }
        let parts: Vec<String> = (0..count).map(|_| self.specifier()).collect();
        parts.join(self.pick(&[",", ",", ", ", " , "]))
    }

    fn comparison(&mut self) -> String {
        let variable = self.pick(&[
            "python_version",
            "python_version",
            "python_full_version",
            "python_full_version",
            "implementation_version",
            "platform_release",
            "platform_release",
            "sys_platform",
            "sys.platform",
            "os_name",
            "os.name",
            "platform_machine",
            "platform.machine",
            "platform_system",
            "platform_version",
            "platform.version",
            "python_implementation",
            "platform_python_implementation",
            "platform.python_implementation",
            "implementation_name",
            "extra",
            "extra",
        ]);
        let text = match variable {
            "python_version" | "python_full_version" | "implementation_version" => {
                let odd = self.odd_version().trim().to_owned();
                let texts = [
                    "3.11",
                    "3.9",
                    "3.12",
                    "3.11.4",
                    "3.11.0",
                    "3.11.5",
                    "3.12.0",
                    "3.12.1",
                    "3.11.*",
                    "3.*",
                    "3.11.4rc1",
                    "3.11.5.dev0",
                    "3",
                    "3.11.4+x",
                    "3.11.4.post1",
                    " 3.11 ",
                    "3.8, 3.11",
                    "3.11 3.12",
                    "3.11.4 3.11.5",
                    "",
                    "three",
                    "3.11.04",
                    "1!3.11",
                    "=3.11",
                    &odd,
                ];
                self.pick(&texts).to_owned()
            }
            "platform_release" => self
                .pick(&[
                    "23",
                    "23.1.0",
                    "23.2",
                    "24",
                    "24.*",
                    "23.0.0 23.1.0",
                    "20.1",
                    "23.1.0-ARM64",
                    "5.15",
                    "23.1.0.post1",
                    "microsoft",
                    "23.1.0rc1",
                ])
                .to_owned(),
            "extra" => self.pick(&["a", "B_c", "b-c", "d.e", "", "a b-c", "A"]).to_owned(),
            _ => self
                .pick(&[
                    "darwin",
                    "linux",
                    "posix",
                    "arm64",
                    "arm",
                    "aarch64",
                    "x86_64",
                    "Darwin",
                    "CPython",
                    "cpython",
                    "PyPy",
                    "nt",
                    "win32",
                    "",
                    "darwin linux",
                ])
                .to_owned(),
        };
        let operator =
            self.pick(&["==", "==", "!=", "<", "<=", ">", ">=", ">=", "~=", "===", "in", "not in", "not  in"]);
        let quote = self.pick(&["'", "\""]);
        let blank = if operator.ends_with('n') { " " } else { self.pick(&["", " ", "  "]) };
        if self.one_in(60) {
            return format!("{variable}{blank}{operator}{blank}os_name");
        }
        if self.one_in(5) {
            format!("{quote}{text}{quote}{blank}{operator}{blank}{variable}")
        } else {
            format!("{variable}{blank}{operator}{blank}{quote}{text}{quote}")
        }
    }

    fn marker(&mut self, depth: usize) -> String {
        if depth == 0 || self.one_in(2) {
            return self.comparison();
        }
        let mut text = self.marker(depth - 1);
        for _ in 0..=self.below(2) {
            let word = self.pick(&["and", "or"]);
            text = format!("{text} {word} {}", self.marker(depth - 1));
        }
        if self.one_in(3) { format!("({text})") } else { text }
    }

    /// Machines of one platform; the first has the lowest release.
    fn environments(&mut self) -> Vec<Value> {
        let extras = [json!([]), json!(["a"]), json!(["b-c"]), json!(["a", "b-c"])][self.below(4)].clone();
        let (system, platform, machine) =
            if self.one_in(2) { ("Darwin", "darwin", "arm64") } else { ("Linux", "linux", "x86_64") };
        let floor = self.pick(&["23.0.0", "23.1.0", "22.6.0"]);
        [floor, "23.1.0", "23.2.0", "23.2.1", "24.0.0", "24.5.0", "30.0.0"]
            .iter()
            .zip(["3.11.0", "3.11.3", "3.11.4", "3.11.5", "3.11.14", "3.12.0", "3.9.20"])
            .map(|(release, python)| {
                let minor: Vec<&str> = python.split('.').take(2).collect();
                json!({
                    "os_name": "posix", "sys_platform": platform, "platform_machine": machine, "platform_system": system,
                    "platform_release": release, "platform_version": "Version 23.1.0: x", "python_version": minor.join("."),
                    "python_full_version": python, "implementation_version": python, "implementation_name": "cpython",
                    "platform_python_implementation": "CPython", "extra": extras,
                })
            })
            .collect()
    }

    fn name(&mut self) -> String {
        self.pick(&["foo", "Foo", "foo-bar", "foo_Bar", "foo.bar", "a", "0", "foo--bar", "foo._bar", "in", "or"])
            .to_owned()
    }

    fn requirement(&mut self) -> String {
        let blank = self.pick(&["", "", " ", "\t"]);
        let extras = match self.below(5) {
            0 => format!("[{}]", self.name()),
            1 => format!("[ {} , {},{}]", self.name(), self.name(), self.name()),
            2 if self.one_in(3) => "[ ]".to_owned(),
            _ => String::new(),
        };
        let mut body = match self.below(6) {
            0 => format!("({})", self.specifiers()),
            1 => format!("@{blank}https://x.example/{}/y-1-py3-none-any.whl#sha256=0", self.name()),
            _ => self.specifiers(),
        };
        if self.one_in(12) {
            body.push_str(self.pick(&[",", " ", ";", "*", ",,", " ,", ">=\n1"]));
        }
        let marker = match self.below(3) {
            0 => format!("{}{};{}{}", self.pick(&["", " "]), blank, blank, self.marker(1)),
            _ => String::new(),
        };
        format!("{}{blank}{extras}{blank}{body}{marker}{}", self.name(), self.pick(&["", "", "", " ", "\n"]))
    }

    fn wheel(&mut self) -> String {
        let name = self.pick(&[
            "foo", "Foo_Bar", "foo.bar", "a", "foo_1", "foo", "torch", "numpy", "_foo", "foo_", "foo__bar", "0x",
            "torch",
        ]);
        let version = if self.one_in(8) { self.odd_version().trim().replace('-', "_") } else { self.version() };
        let build = self.pick(&["", "", "", "-1", "-2_x", "-007", "-10abc", "-x1", "-1.2", "", "", ""]);
        let python = self.pick(&[
            "py3",
            "py2.py3",
            "cp313",
            "CP39",
            "cp313.cp312",
            "pp310",
            "py3.py3",
            "cp314",
            "py310",
            "cp37.cp38",
            "3",
        ]);
        let abi = self.pick(&["none", "abi3", "cp313", "cp313t", "none.abi3", "pypy310_pp73"]);
        let platform = self.pick(&[
            "any",
            "macosx_11_0_arm64",
            "macosx_10_9_x86_64.macosx_11_0_arm64.macosx_10_9_universal2",
            "manylinux_2_17_x86_64.manylinux2014_x86_64",
            "win_amd64",
            "Linux_X86_64",
        ]);
        let suffix = self.pick(&[
            ".whl", ".whl", ".whl", ".whl", ".whl", ".whl", ".whl", ".whl", ".whl", ".whl", ".whl", ".whl", ".WHL",
            ".zip",
        ]);
        format!("{name}-{version}{build}-{python}-{abi}-{platform}{suffix}")
    }
}
