//! Rules over the libraries of an environment: made-up distributions in, findings out. For each rule one that it is about,
//! in each grade, and its harmless neighbour.

pub(crate) mod made;

mod live;
mod loading;
mod openmp;
mod versions;
