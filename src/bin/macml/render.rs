//! Findings as text with carets. The one place that lays them out.
//!
//! Text carries ANSI styles; printing it through `anstream` drops them where they do not belong.

use annotate_snippets::AnnotationKind;
use annotate_snippets::Group;
use annotate_snippets::Level;
use annotate_snippets::Renderer;
use annotate_snippets::Snippet;
use macml::diag::Finding;
use macml::diag::Severity;
use macml::diag::Source;
use macml::diag::Span;

/// Lays out one finding, ended by a line feed; `source` is the file that its labels point into.
pub(crate) fn finding(finding: &Finding, source: Option<&Source>) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = Group::with_title(level.primary_title(&finding.message).id(finding.code.as_str()));
    let masked = source.map(Source::masked);
    if let Some(source) = masked.as_ref().filter(|_| !finding.labels.is_empty()) {
        let kinds = std::iter::once(AnnotationKind::Primary).chain(std::iter::repeat(AnnotationKind::Context));
        let annotations = finding.labels.iter().zip(kinds).map(|(label, kind)| {
            let text = Some(label.text.as_str()).filter(|text| !text.is_empty());
            kind.span(within(&source.text, label.span)).label(text)
        });
        group = group.element(Snippet::source(&source.text).path(&source.name).annotations(annotations));
    }
    group = group.elements(finding.notes.iter().map(|note| Level::NOTE.message(note)));
    group = group.elements(finding.hint.iter().map(|hint| Level::HELP.message(hint)));
    Renderer::styled().hyperlink(false).render(&[group]) + "\n"
}

/// Cuts a span to the text, at characters.
fn within(text: &str, span: Span) -> std::ops::Range<usize> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.min(text.len()));
    start..end.max(start)
}
