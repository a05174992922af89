//! Real frameworks through the verb, on this machine's processor (when `MACML_LIVE` is set); torch too where it is
//! downloaded anyway. Natively torch is asked in `live_native`, TensorFlow and MLX as a project has them in `sync`.

use super::verified;
use crate::real_answers::live;
use crate::support::real::{environment, folder, full, torch};

#[test]
fn coremltools_converts_through_the_verb() {
    if live() {
        environment("coremltools", &["coremltools"]);
        let verdicts = verified(&folder().join("coremltools"), &[]);
        assert_eq!((verdicts.len(), &verdicts[0]["framework"]), (1, &"coremltools".into()));
    }
}

#[test]
fn torch_computes_through_the_verb() {
    if full() {
        torch();
        let verdicts = verified(&folder().join("torch"), &["--python"]);
        assert_eq!((verdicts.len(), &verdicts[0]["framework"]), (1, &"torch".into()));
        assert!(verdicts[0]["compared"].as_u64().unwrap() > 100, "{verdicts:#?}");
    }
}
