//! Gives the shared library its name for the dynamic linker. Before version 1.0, a minor version may break programs, so
//! it is part of the name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        let part = |name: &str| std::env::var(format!("CARGO_PKG_VERSION_{name}")).unwrap_or_default();
        let name = format!("libpathweave_scheduler.so.{}.{}", part("MAJOR"), part("MINOR"));
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    }
}
