//! `Name`: what ATen calls an operator, and what people call it: `aten::linalg_qr.out`, `torch.linalg.qr`, a fallback
//! warning with such a name in it.

use std::fmt;
use std::str::FromStr;

/// The name of an operator: `linalg_qr`, with an overload `linalg_qr.out`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name {
    base: String,
    overload: String,
}

/// What is no name of an operator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no name of an operator")]
pub struct NameError(String);

impl Name {
    /// Returns it without the overload: `linalg_qr`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the overload, empty for the one without a name.
    pub fn overload(&self) -> &str {
        &self.overload
    }

    /// Returns the base without the `_` by which the variant that writes into its first tensor ends.
    pub fn root(&self) -> &str {
        match self.base.strip_suffix('_') {
            // `__iand__` and its like end so for another reason.
            Some(root) if !root.is_empty() && !root.ends_with('_') => root,
            _ => &self.base,
        }
    }

    /// Returns whether people do not call it: it begins with `_`, or is the backward half of another operator.
    pub fn is_internal(&self) -> bool {
        let dunder = self.base.starts_with("__") && self.base.ends_with("__");
        self.base.starts_with('_') && !dunder || self.base.contains("_backward")
    }
}

impl FromStr for Name {
    type Err = NameError;

    /// Reads `linalg_qr`, `linalg_qr.out`, `aten::linalg_qr.out`, `linalg_qr.default`.
    fn from_str(text: &str) -> Result<Self, NameError> {
        let plain = text.strip_prefix("aten::").unwrap_or(text);
        let (base, overload) = plain.split_once('.').unwrap_or((plain, ""));
        // `torch.ops.aten.linalg_qr.default` is Python's word for the overload without a name.
        let overload = if overload == "default" { "" } else { overload };
        if !is_word(base) || !(overload.is_empty() || overload.chars().all(is_sign)) {
            return Err(NameError(text.to_owned()));
        }
        Ok(Self { base: base.to_owned(), overload: overload.to_owned() })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.overload.as_str() {
            "" => f.write_str(&self.base),
            overload => write!(f, "{}.{overload}", self.base),
        }
    }
}

fn is_sign(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_sign)
}

/// Functions of Python that are written in terms of operators of other names, as torch's own `functional.py` files do.
const WRITTEN_AS: &[(&str, &[&str])] = &[
    ("nn.functional.cross_entropy", &["cross_entropy_loss"]),
    ("nn.functional.fold", &["col2im"]),
    ("nn.functional.grid_sample", &["grid_sampler_2d", "grid_sampler_3d"]),
    ("nn.functional.affine_grid", &["affine_grid_generator"]),
    (
        "nn.functional.interpolate",
        &[
            "upsample_nearest1d",
            "upsample_nearest2d",
            "upsample_nearest3d",
            "_upsample_nearest_exact1d",
            "_upsample_nearest_exact2d",
            "_upsample_nearest_exact3d",
            "upsample_linear1d",
            "upsample_bilinear2d",
            "upsample_trilinear3d",
            "upsample_bicubic2d",
            "_upsample_bilinear2d_aa",
            "_upsample_bicubic2d_aa",
        ],
    ),
    ("nn.functional.local_response_norm", &["avg_pool2d", "avg_pool3d"]),
    ("nn.functional.lp_pool1d", &["avg_pool1d"]),
    ("nn.functional.lp_pool2d", &["avg_pool2d"]),
    ("nn.functional.max_unpool1d", &["max_unpool2d"]),
    ("nn.functional.unfold", &["im2col"]),
    ("nn.functional.upsample", &["upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d"]),
    ("cdist", &["cdist", "_cdist_forward"]),
];

/// Lists what a person may mean by a name, the best reading first; each reading is operators that are needed together.
/// None for what is no name.
pub fn readings(text: &str) -> Vec<Vec<Name>> {
    let text = text.trim().trim_end_matches("()");
    let parse = |name: &str| name.parse::<Name>().ok();
    let plain = text.strip_prefix("torch.ops.aten.").or_else(|| text.strip_prefix("aten."));
    if plain.is_some() || text.starts_with("aten::") {
        return parse(plain.unwrap_or(text)).into_iter().map(|name| vec![name]).collect();
    }
    let path = text.strip_prefix("torch.").unwrap_or(text);
    let path = match path.strip_prefix("F.") {
        Some(rest) => format!("nn.functional.{rest}"),
        None => path.to_owned(),
    };
    let mut readings = Vec::new();
    if let Some((_, names)) = WRITTEN_AS.iter().find(|(python, _)| *python == path) {
        readings.push(names.iter().filter_map(|name| parse(name)).collect());
    }
    let mut take = |name: &str| readings.extend(parse(name).map(|name| vec![name]));
    match ["Tensor.", "nn.functional.", "_C._nn."].iter().find_map(|module| path.strip_prefix(module)) {
        Some(rest) => take(rest),
        None => {
            take(&path);
            // `torch.linalg.qr` is `linalg_qr`, and `torch.sparse.mm` is `_sparse_mm`.
            if path.contains('.') {
                let joined = path.replace('.', "_");
                take(&joined);
                take(&format!("_{joined}"));
            }
        }
    }
    readings
}

/// What a text says of operators.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Mentioned {
    /// The names in it, each once, in order.
    pub names: Vec<String>,
    /// Lines that name none, less empty ones and comments.
    pub others: Vec<String>,
}

/// Finds the names that a text mentions as `aten::name`, which is how torch warns of a fallback and refuses an operator,
/// and on lines that are nothing but names: `are_names` is given their words. What follows a `#` at the beginning of a line
/// or behind such names is a comment.
pub fn mentioned(text: &str, are_names: &dyn Fn(&[&str]) -> bool) -> Mentioned {
    const PREFIX: &str = "aten::";
    let mut found = Mentioned::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut take = |name: String| {
            if !found.names.contains(&name) {
                found.names.push(name);
            }
        };
        // A list of names may have them written so too; then its other names count.
        let plain = line.split_once(" #").map_or(line, |(names, _)| names);
        let words = split(plain);
        if !words.is_empty() && are_names(&words) {
            words.into_iter().for_each(|word| take(word.to_owned()));
            continue;
        }
        for (at, _) in line.match_indices(PREFIX) {
            let rest = &line[at + PREFIX.len()..];
            let base = &rest[..rest.find(|c| !is_sign(c)).unwrap_or(rest.len())];
            let tail = rest[base.len()..].strip_prefix('.').unwrap_or_default();
            let overload = &tail[..tail.find(|c| !is_sign(c)).unwrap_or(tail.len())];
            match (is_word(base), overload) {
                (false, _) => {}
                (true, "") => take(format!("{PREFIX}{base}")),
                (true, overload) => take(format!("{PREFIX}{base}.{overload}")),
            }
        }
        if !line.contains(PREFIX) {
            found.others.push(line.to_owned());
        }
    }
    found
}

/// Takes names apart that stand behind one another, by white space or commas; those within brackets are of one variant:
/// `grid_sample[2d,zeros]`.
pub fn split(text: &str) -> Vec<&str> {
    let mut within = 0_u32;
    let apart = text.split(move |c: char| {
        match c {
            '[' => within += 1,
            ']' => within = within.saturating_sub(1),
            _ => {}
        }
        within == 0 && (c == ',' || c.is_whitespace())
    });
    apart.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let check = |text: &str, shown: Option<&str>| {
            assert_eq!(text.parse::<Name>().ok().map(|name| name.to_string()).as_deref(), shown, "{text}");
        };
        check("linalg_qr", Some("linalg_qr"));
        check("aten::linalg_qr.out", Some("linalg_qr.out"));
        check("aten::add.default", Some("add"));
        check("__iand__.Tensor", Some("__iand__.Tensor"));
        check("", None);
        check("aten::", None);
        check("add.Tensor.out", None);
        check("3d", None);
        let name = |text: &str| text.parse::<Name>().unwrap();
        assert_eq!((name("add_.Tensor").root(), name("__iand__").root(), name("_").root()), ("add", "__iand__", "_"));
        assert_eq!(
            ["_x", "x_backward", "x", "__and__", "x_backward.out"].map(|text| name(text).is_internal()),
            [true, true, false, false, true]
        );
    }

    #[test]
    fn what_people_may_mean() {
        let check = |text: &str, wanted: &[&[&str]]| {
            let all: Vec<Vec<String>> =
                readings(text).iter().map(|one| one.iter().map(ToString::to_string).collect()).collect();
            assert_eq!(all, wanted, "{text}");
        };
        check("linalg_qr.out", &[&["linalg_qr.out"], &["linalg_qr_out"], &["_linalg_qr_out"]]);
        check("aten::linalg_qr", &[&["linalg_qr"]]);
        check("torch.ops.aten.add.Tensor", &[&["add.Tensor"]]);
        check("torch.linalg.qr", &[&["linalg.qr"], &["linalg_qr"], &["_linalg_qr"]]);
        check("torch.sparse.mm()", &[&["sparse.mm"], &["sparse_mm"], &["_sparse_mm"]]);
        check("torch.nn.functional.ctc_loss", &[&["ctc_loss"]]);
        check("F.unfold", &[&["im2col"], &["unfold"]]);
        check("torch.Tensor.add_", &[&["add_"]]);
        check("no name", &[]);
    }

    #[test]
    fn names_in_a_text() {
        let text = "\
x.py:1: UserWarning: The operator 'aten::linalg_cholesky_ex.L' is not currently supported on the MPS backend and will \
fall back to run on the CPU. (Triggered internally at MPSFallback.mm:15.)
NotImplementedError: The operator 'aten::_ctc_loss' is not currently implemented for the MPS device. If you want this
see aten::_ctc_loss. It calls aten::add.Tensor, aten::3d and aten::.
linalg_qr
# aten::mul
nothing
pad[reflect,2d], linalg_qr\taten::relu  # the usual ones
";
        let known = ["linalg_qr", "pad[reflect,2d]", "aten::relu"];
        let found = mentioned(text, &|words| words.iter().all(|word| known.contains(word)));
        let names = ["aten::linalg_cholesky_ex.L", "aten::_ctc_loss", "aten::add.Tensor", "linalg_qr"];
        assert_eq!(found.names, [&names[..], &["pad[reflect,2d]", "aten::relu"]].concat());
        assert_eq!(found.others, ["nothing"]);
    }
}
