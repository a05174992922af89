//! The facts of Mach-O images: of made ones, of damaged ones, and of real wheels (live).

mod agreement;
mod damaged;
mod made;
