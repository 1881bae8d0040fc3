//! The common part of all pages: one HTML file that needs nothing from outside.
//!
//! A content security policy forbids all loading. It allows the page's own scripts and style sheets by their hashes,
//! and pictures that the page generates for its export. After drawing, the script writes its results to attributes of
//! the root element (`data-ready`, `data-plots`, `data-empty`, `data-errors`, `data-outside`, `data-width`,
//! `data-height`), so that a browser without a window can check them.
//!
//! This module also escapes text for HTML and JSON for a script element, and computes the hashes of the content
//! security policy.

use sha2::{Digest, Sha256};

const UPLOT_LICENCE: &str = include_str!("../assets/uPlot-LICENSE");
const UPLOT_JS: &str = include_str!("../assets/uPlot-1.6.32.iife.min.js");
const UPLOT_CSS: &str = include_str!("../assets/uPlot-1.6.32.min.css");
const PAGE_CSS: &str = include_str!("../assets/page.css");
const THEME_JS: &str = include_str!("../assets/theme.js");
const COMMON_JS: &str = include_str!("../assets/common.js");

/// The start of every page's header: its name and the button of the theme.
pub(crate) const BRAND: &str = "<a class=\"skip\" href=\"#main\">To the results</a>\n<header><p class=\"brand\">Pathweave</p>\
                                <button id=\"theme\" type=\"button\" hidden>Dark</button>";

/// The parts of a page that differ.
pub(crate) struct Document<'a> {
    /// The title, as plain text.
    pub(crate) title: &'a str,
    /// The main part, as HTML, without the footer.
    pub(crate) body: &'a str,
    /// Pathweave's version; empty if it is not known.
    pub(crate) version: &'a str,
    /// The input of the page's script, as JSON.
    pub(crate) data: &'a str,
    /// The page's own script; it starts after `common.js`.
    pub(crate) script: &'a str,
}

/// The whole file. Equal input gives equal bytes.
pub(crate) fn document(page: &Document<'_>) -> String {
    let library = format!("/*\n{UPLOT_LICENCE}*/\n{UPLOT_JS}");
    let script = format!("{COMMON_JS}{}", page.script);
    let policy = format!(
        "default-src 'none'; script-src {} {} {}; style-src {} {}; img-src data: blob:; base-uri 'none'; form-action 'none'",
        csp_source(THEME_JS),
        csp_source(&library),
        csp_source(&script),
        csp_source(UPLOT_CSS),
        csp_source(PAGE_CSS),
    );
    let space = if page.version.is_empty() { "" } else { " " };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>{UPLOT_CSS}</style>\n<style>{PAGE_CSS}</style>\n<script>{THEME_JS}</script>\n</head>\n<body>\n\
         {}<footer><p>Made by Pathweave{space}{}, a deterministic Multipath TCP simulator. The plots over time are drawn by uPlot \
         1.6.32 (MIT licence, in the page's source).</p></footer>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n<script>{library}</script>\n<script>{script}</script>\n\
         </body>\n</html>\n",
        html(page.title),
        page.body,
        html(page.version),
        json_in_script(page.data),
    )
}

const FIGURES_JS: &str = include_str!("../assets/figures.js");

/// A page whose figures are SVG elements `<svg class="figure" aria-label="..." data-values="...">` within its text.
/// Their colours are the classes of `page.css`. `body` is the HTML of the page's main part.
pub fn figure_page(title: &str, body: &str, version: &str) -> String {
    let body = format!("{BRAND}</header>\n<main id=\"main\">\n{body}</main>\n");
    document(&Document { title, body: &body, version, data: "{}", script: FIGURES_JS })
}

/// Escapes text for use inside HTML elements and quoted attributes.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Escapes JSON so that no HTML parser mistakes it for markup. The escaped characters occur only inside strings, where
/// `\u` escapes mean the same.
pub(crate) fn json_in_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// `'sha256-...'`, the source expression that allows exactly this inline script or style.
pub(crate) fn csp_source(inline: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(inline.as_bytes())))
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |w, i| w << 8 | u32::from(chunk.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            match i <= chunk.len() {
                true => out.push(char::from(ALPHABET[(word >> (18 - 6 * i)) as usize & 63])),
                false => out.push('='),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_vectors() {
        // RFC 4648 §10
        let all = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|t| base64(t.as_bytes()));
        assert_eq!(all, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn nothing_ends_the_script_element() {
        assert_eq!(json_in_script(r#"{"a":"</script><!--&"}"#), r#"{"a":"\u003c/script\u003e\u003c!--\u0026"}"#);
        assert_eq!(html("<b a='x'>&\""), "&lt;b a=&#39;x&#39;&gt;&amp;&quot;");
    }
}
