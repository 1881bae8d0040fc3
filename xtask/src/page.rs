//! Opens a report page in a headless browser and checks that it draws everything, reports no error and loads nothing.
//!
//! The page reports its drawings on its root element (see `pathweave-report`'s page). It is opened light and dark, wide
//! and narrow, and a picture of each is left in `target/page/`.

use crate::setup::CHROMIUM;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Widths of the window: a desktop and a telephone.
const WIDTHS: [(&str, u32); 2] = [("wide", 1400), ("narrow", 400)];
/// Chromium's `preferredColorScheme`.
const SCHEMES: [(&str, u32); 2] = [("dark", 0), ("light", 1)];
/// Longest time for opening the page once, in tenths of a second.
const PATIENCE: u32 = 900;
/// Greatest height of a picture. Higher pages are cut off.
const HIGHEST: u32 = 16_000;

/// Opens the page in headless Chromium, light and dark, wide and narrow, and installs Chromium if it is missing. Checks
/// that the console is empty, no plot is empty and nothing is loaded from outside. Leaves
/// `target/page/NAME-{light,dark}-{wide,narrow}.png`, where NAME is the file's name.
///
/// # Errors
/// A fault of the page, or the reason why it cannot be opened.
pub(crate) fn check(html: &Path) -> Result<(), String> {
    let html = html.canonicalize().map_err(|e| format!("{}: {e}", html.display()))?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/page");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
    let stem = html.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let browser = Browser { program: CHROMIUM.path()?, folder, url: file_url(&html)? };
    for (scheme, scheme_flag) in SCHEMES {
        for (size, width) in WIDTHS {
            let name = format!("{stem}-{scheme}-{size}");
            let seen = browser.dump(width, scheme_flag).and_then(|(dom, log)| judge(&dom, &log, width));
            let seen = seen.map_err(|e| format!("{}, {name}: {e}", html.display()))?;
            let picture = browser.picture(&name, width, seen.height.min(HIGHEST), scheme_flag)?;
            let Seen { plots, values, saved, .. } = seen;
            println!("{name}: {plots} plots, {values} values, {saved} files saved: {}", picture.display());
        }
    }
    Ok(())
}

/// Takes a picture of the top of a page, on a light background.
///
/// # Errors
/// The reason why there is none.
pub(crate) fn picture(html: &Path, name: &str, width: u32, height: u32) -> Result<PathBuf, String> {
    let html = html.canonicalize().map_err(|e| format!("{}: {e}", html.display()))?;
    let folder = html.parent().map(Path::to_path_buf).unwrap_or_default();
    Browser { program: CHROMIUM.path()?, folder, url: file_url(&html)? }.picture(name, width, height, 1)
}

/// The frame that the page is shown in. When the page is ready, it presses each of its export buttons.
const FRAME: &str = include_str!("frame.html");

/// The page's report about itself.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    plots: u32,
    values: u32,
    height: u32,
    /// Number of files that its buttons saved.
    saved: u32,
}

/// Checks the browser's output and log.
fn judge(dom: &str, log: &str, width: u32) -> Result<Seen, String> {
    let console: Vec<&str> = log.lines().filter(|l| l.contains(":CONSOLE")).collect();
    if !console.is_empty() {
        return Err(format!("messages on the console:\n{}", console.join("\n")));
    }
    let start = dom.find("<html").ok_or("the browser shows no page")?;
    let root = &dom[start..start + dom[start..].find('>').ok_or("the browser shows no page")?];
    let text = |name: &str| {
        let from = root.find(&format!(" data-{name}=\""))? + name.len() + 8;
        root[from..].split('"').next()
    };
    let number = |name: &str| text(name).and_then(|t| t.parse::<u32>().ok()).unwrap_or(0);
    if text("ready") != Some("yes") {
        return Err("its script did not finish".into());
    }
    for (name, fault) in
        [("errors", "errors"), ("empty", "empty plots"), ("outside", "loaded from outside"), ("exports", "export")]
    {
        match text(name) {
            Some("") => {}
            Some(found) => return Err(format!("{fault}: {found}")),
            None => return Err(format!("data-{name} is missing")),
        }
    }
    if number("width") != width {
        return Err(format!("{} pixels wide instead of {width}", number("width")));
    }
    let seen =
        Seen { plots: number("plots"), values: number("points"), height: number("height"), saved: number("saved") };
    if number("buttons") != seen.saved {
        return Err(format!("{} export buttons saved {} files", number("buttons"), seen.saved));
    }
    if seen.plots == 0 || seen.values == 0 || seen.height == 0 {
        return Err(format!("nothing is drawn: {seen:?}"));
    }
    Ok(seen)
}

struct Browser {
    program: PathBuf,
    folder: PathBuf,
    url: String,
}

impl Browser {
    /// The document that shows the page in a frame and copies its attributes, and the browser's log.
    fn dump(&self, width: u32, scheme: u32) -> Result<(String, String), String> {
        self.run(&["--dump-dom".into(), "--enable-logging=stderr".into()], width, 1000, scheme)
    }

    fn picture(&self, name: &str, width: u32, height: u32, scheme: u32) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("{name}.png"));
        let _ = fs::remove_file(&path);
        self.run(&[format!("--screenshot={}", path.display())], width, height, scheme)?;
        match fs::metadata(&path) {
            Ok(file) if file.len() > 2_000 => Ok(path),
            _ => Err(format!("{} shows nothing", path.display())),
        }
    }

    /// Runs the browser to its end and returns both of its outputs. The page is in a frame, because a window is never as narrow
    /// as a telephone.
    fn run(&self, arguments: &[String], width: u32, height: u32, scheme: u32) -> Result<(String, String), String> {
        let frame = self.folder.join("frame.html");
        let text = FRAME.replace("@URL@", &self.url).replace("@WIDTH@", &width.to_string());
        fs::write(&frame, text.replace("@HEIGHT@", &height.to_string()))
            .map_err(|e| format!("{}: {e}", frame.display()))?;
        let profile = self.folder.join("profile");
        let paths = [self.folder.join("browser.out"), self.folder.join("browser.log")];
        let create = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
        let mut child = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--hide-scrollbars", "--virtual-time-budget=5000", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .args(["--allow-file-access-from-files", &format!("--window-size={width},{height}")])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .args(arguments)
            .arg(file_url(&frame)?)
            .stdin(Stdio::null())
            .stdout(create(&paths[0])?)
            .stderr(create(&paths[1])?)
            .spawn()
            .map_err(|e| format!("{}: {e}", self.program.display()))?;
        let mut ended = None;
        for _ in 0..PATIENCE {
            ended = child.try_wait().map_err(|e| e.to_string())?;
            if ended.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let read = |path: &Path| fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
        let [out, log] = [read(&paths[0]), read(&paths[1])];
        let Some(status) = ended else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("the browser did not end within {} s:\n{log}", PATIENCE / 10));
        };
        let _ = fs::remove_dir_all(&profile);
        if !status.success() {
            return Err(format!("the browser ended with {status}:\n{log}"));
        }
        Ok((out, log))
    }
}

/// The address of a file.
fn file_url(path: &Path) -> Result<String, String> {
    let path = path.to_str().ok_or("the path of the page is not Unicode")?;
    let mut url = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => url.push(char::from(byte)),
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(attributes: &str) -> String {
        format!("<!DOCTYPE html><html lang=\"en\" {attributes}><head></head></html>")
    }

    const GOOD: &str = "data-plots=\"4\" data-points=\"90\" data-empty=\"\" data-errors=\"\" data-outside=\"\" \
                        data-exports=\"\" data-buttons=\"3\" data-saved=\"3\" data-width=\"390\" data-height=\"2000\" data-ready=\"yes\"";

    #[test]
    fn a_good_page() {
        assert_eq!(
            judge(&page(GOOD), "[1:2:ERROR:dbus/bus.cc]", 390),
            Ok(Seen { plots: 4, values: 90, height: 2000, saved: 3 })
        );
    }

    #[test]
    fn every_fault_is_one() {
        for (right, wrong) in [
            ("data-ready=\"yes\"", ""),
            ("data-plots=\"4\"", "data-plots=\"0\""),
            ("data-points=\"90\"", ""),
            ("data-empty=\"\"", "data-empty=\"goodput of minrtt\""),
            ("data-errors=\"\"", "data-errors=\"x is undefined\""),
            ("data-outside=\"\"", "data-outside=\"https://example.org/a.js\""),
            ("data-width=\"390\"", "data-width=\"500\""),
            ("data-exports=\"\"", "data-exports=\"a.svg is no SVG\""),
            ("data-saved=\"3\"", "data-saved=\"2\""),
        ] {
            assert!(judge(&page(&GOOD.replace(right, wrong)), "", 390).is_err(), "{wrong} passes");
        }
        assert!(judge(&page(GOOD), "[1:2:INFO:CONSOLE:3] \"Refused to load\"", 390).is_err());
        assert!(judge("", "", 390).is_err());
    }

    #[test]
    fn addresses_of_files() {
        assert_eq!(file_url(Path::new("/a b/ü.html")), Ok("file:///a%20b/%C3%BC.html".into()));
    }

    #[test]
    #[ignore = "needs Chromium"]
    fn a_browser_finds_the_faults() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/page");
        fs::create_dir_all(&folder).expect("the folder can be made");
        let try_page = |body: &str| {
            let path = folder.join("fault.html");
            let ready = "<script>Object.assign(document.documentElement.dataset, {plots: 1, points: 1, empty: '', errors: '', \
                         outside: '', width: innerWidth, height: 500, ready: 'yes'})</script>";
            let text = "<p style=\"font-size: 90px\">text</p>";
            // As the report has it; what a policy refuses is on the console, what merely fails to load is not.
            let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                          script-src 'unsafe-inline'; style-src 'unsafe-inline'\">";
            let text = format!("<!doctype html><html><head>{policy}</head><body>{text}{ready}{body}</body></html>");
            fs::write(&path, text).expect("the page can be written");
            check(&path)
        };
        assert_eq!(try_page(""), Ok(()));
        for body in ["<script>throw new Error('no')</script>", "<img src=\"https://example.org/a.png\">"] {
            let error = try_page(body).expect_err("the fault is found");
            assert!(error.contains("console"), "{error}");
        }
        let save = |kind: &str, name: &str, content: &str| {
            try_page(&format!(
                "<button class=\"export\">{kind}</button><script>document.querySelector('button').onclick = () => {{
                   const link = document.createElement('a');
                   Object.assign(link, {{ href: URL.createObjectURL(new Blob(['{content}'])), download: '{name}' }}).click();
                 }}</script>"
            ))
        };
        assert_eq!(save("CSV", "a.csv", "name,value\\nx,1\\n"), Ok(()));
        for (kind, name, content, fault) in [
            ("CSV", "a.csv", "name,value\\nx\\n", "a.csv"),
            ("CSV", "a.csv", "name,value\\n", "a.csv"),
            ("SVG", "a.svg", "<svg", "a.svg"),
            ("PNG", "a.png", "GIF89a", "a.png"),
            ("CSV", "a.txt", "name,value\\nx,1\\n", "a.txt"),
        ] {
            let error = save(kind, name, content).expect_err("the fault is found");
            assert!(error.contains(fault), "{error}");
        }
    }
}
