//! The real project that is timed.

/// Its roots: a researcher's usual environment, about 150 packages in all.
pub(crate) const ROOTS: [&str; 14] = [
    "torch",
    "torchvision",
    "torchaudio",
    "mlx",
    "mlx-lm",
    "transformers",
    "accelerate",
    "datasets",
    "numpy",
    "pandas",
    "scikit-learn",
    "matplotlib",
    "jupyterlab",
    "tqdm",
];
