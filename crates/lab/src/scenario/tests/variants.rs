use super::*;

#[test]
fn a_scheduler_entry_overrides_settings() {
    let document = Document::parse("test.toml", &with_path("")).expect("TOML");
    let scenario =
        document.scenario(&Registry::builtin(), &scheduler("minrtt:pr=true:receive_buffer=60KB")).expect("right");
    assert!(scenario.connections[0].pr);
    assert!(scenario.connections[0].scheduler.given.is_empty());
}
