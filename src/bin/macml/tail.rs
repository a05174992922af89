//! `Tail`: the end of a stream that may be long, with how many lines there were before it.

/// The last lines of what was read.
#[derive(Debug)]
pub(crate) struct Tail {
    most: usize,
    bytes: Vec<u8>,
    lines_before: usize,
}

impl Tail {
    /// Makes one that keeps at least so many bytes of a stream that has them, and at most twice as many.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, bytes: Vec::new(), lines_before: 0 }
    }

    /// Takes what comes next.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        for some in bytes.chunks(self.most) {
            self.bytes.extend_from_slice(some);
            if self.bytes.len() > 2 * self.most {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        let end = self.bytes.len() - self.most;
        self.lines_before += self.bytes[..end].iter().filter(|byte| **byte == b'\n').count();
        self.bytes.drain(..end);
    }

    /// Returns what is kept.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns how many lines were dropped before it.
    pub(crate) fn lines_before(&self) -> usize {
        self.lines_before
    }

    /// Returns how many lines there were in all.
    pub(crate) fn lines(&self) -> usize {
        let ended = self.bytes.iter().filter(|byte| **byte == b'\n').count();
        self.lines_before + ended + usize::from(self.is_within_line())
    }

    /// Returns whether the last line has no end.
    pub(crate) fn is_within_line(&self) -> bool {
        self.bytes.last().is_some_and(|last| *last != b'\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_the_beginning_however_they_come() {
        let text: String = (1..=1000).map(|number| format!("line {number}\n")).collect();
        for size in [1, 7, 100, 1000, 100_000] {
            let mut tail = Tail::new(100);
            text.as_bytes().chunks(size).for_each(|some| tail.take(some));
            assert!((100..=200).contains(&tail.bytes().len()), "{size}");
            let kept = String::from_utf8(tail.bytes().to_vec()).unwrap();
            assert!(text.ends_with(&kept));
            let at = kept.lines().position(|line| line == "line 995").unwrap();
            assert_eq!(tail.lines_before() + at + 1, 995, "{size}");
            assert!(!tail.is_within_line());
            assert_eq!(tail.lines(), 1000);
        }
        let mut tail = Tail::new(10);
        assert!(!tail.is_within_line());
        tail.take(b"abc");
        assert!(tail.is_within_line() && tail.bytes() == b"abc" && tail.lines() == 1);
    }
}
