use super::*;

#[track_caller]
fn says(text: &str, expected: &str) {
    assert_eq!(error_of(text).to_string(), expected);
}

#[test]
fn syntax_keeps_its_line() {
    assert_eq!(error_of("format = 1\nname = \n").line(), 2);
}

#[test]
fn wrong_values_say_what_is_allowed() {
    says(&with_path("delay = \"10\""), "test.toml:6: delay = 10: allowed: a time such as 10ms or 1.5s");
}
