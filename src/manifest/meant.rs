//! Names that people write for a package that is called otherwise: what they import, or what the project calls itself.

/// Pairs of what is written and what is meant, both normalized.
const MEANT: [(&str, &str); 23] = [
    ("bs4", "beautifulsoup4"),
    ("coreml", "coremltools"),
    ("coreml-tools", "coremltools"),
    ("cv2", "opencv-python"),
    ("dateutil", "python-dateutil"),
    ("dotenv", "python-dotenv"),
    ("faiss", "faiss-cpu"),
    ("faiss-gpu", "faiss-cpu"),
    ("huggingface", "huggingface-hub"),
    ("jupyter-lab", "jupyterlab"),
    ("metal", "tensorflow-metal"),
    ("onnxruntime-gpu", "onnxruntime"),
    ("opencv", "opencv-python"),
    ("pil", "pillow"),
    ("pytorch", "torch"),
    ("pytorch-vision", "torchvision"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("tensorflow-gpu", "tensorflow"),
    ("tensorflow-macos", "tensorflow"),
    ("tf", "tensorflow"),
    ("umap", "umap-learn"),
    ("yaml", "pyyaml"),
];

/// Returns the package that is meant by a normalized name, when that is known to be another one.
pub fn meant(written: &str) -> Option<&'static str> {
    let at = MEANT.binary_search_by_key(&written, |(name, _)| name).ok()?;
    Some(MEANT[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_sorted_and_lead_to_no_other() {
        assert!(MEANT.is_sorted());
        assert_eq!(meant("pytorch"), Some("torch"));
        for (_, meaning) in MEANT {
            assert_eq!(meant(meaning), None);
        }
    }
}
