//! What this user's macml notes of a generation.

use std::collections::BTreeMap;

use macml::environment::{Built, Generation, Place};

/// Writes a note on a generation as its stamp has it.
pub(crate) fn note(place: &Place, generation: &Generation) -> Built {
    let stamp = generation.stamp().unwrap().unwrap();
    Built {
        version: Built::VERSION,
        project: place.project.clone(),
        env: place.env.clone(),
        generation: generation.path.clone(),
        token: stamp.token,
        site: stamp.site,
        site_time: stamp.site_time,
        bin_time: stamp.bin_time,
        prompt: "p".to_owned(),
        run_env: BTreeMap::new(),
        manifest: String::new(),
        lock: String::new(),
    }
}
