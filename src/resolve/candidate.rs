//! temp
use crate::index::source::File;
use crate::manifest::model::Wheels;
use crate::target::{MacosVersion, Target};
use std::sync::Arc;
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unfit {
    NeedsMacos { needs: MacosVersion },
    OnlyIntel,
    OtherPlatforms(String),
    NoWheelForPython {},
}
impl std::fmt::Display for Unfit {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
pub struct Selection {
    pub floor: Arc<File>,
    pub wheels: Vec<Arc<File>>,
}
pub fn select(_: &[Arc<File>], _: bool, _: &Target, _: Wheels) -> Result<Selection, Unfit> {
    todo!()
}
pub fn shared_generations(_: &[&[Arc<File>]]) -> Vec<Vec<Arc<File>>> {
    todo!()
}
