//! What a check says of the libraries of a set on a Mac and of what is known of it: sets in, parts out. From facts of real
//! wheels, and from made-up images where a report needs others.

mod known;
mod reports;
mod sets;
mod unread;
