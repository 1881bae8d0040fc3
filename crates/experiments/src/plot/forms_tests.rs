use crate::plot::{self, Drawn};
use crate::record::Record;
use crate::results::Results;
use crate::testing;
use pathweave_lab::results::Status;

const PLAN: &str = r#"
format = 1
name = "made-up"
scenarios = ["cp-asymmetric"]
schedulers = ["minrtt", "blest", "redundant"]
baselines = false
seeds = 2
[[parameter]]
name = "buffer"
values = [40, 100]
set = { "connection.receive_buffer" = "{}KB" }
[[printed]]
variant = "blest"
value = 6
source = "Table 1"
where = { buffer = 100 }
[[figure]]
title = "goodput"
form = "bars"
x = "buffer"
"#;

/// The plan with another figure, drawn. Each variant has its value at each point with each seed.
fn drawn(figure: &str, values: &[f64]) -> Drawn {
    let (before, _) = PLAN.split_once("[[figure]]").expect("it has a figure");
    let sweep = testing::sweep(&format!("{before}[[figure]]\ntitle = \"goodput\"\n{figure}"));
    let record = |run: usize| testing::record(&sweep, run, Status::Completed, values[sweep.run(run).0.variant]);
    let records: Vec<Record> = (0..sweep.len()).map(record).collect();
    plot::draw(&sweep, &Results::new(&sweep, &records), &sweep.plan.figures[0])
}

/// The path of the line with this class.
fn line<'a>(drawn: &'a Drawn, class: &str) -> Option<&'a str> {
    let (_, rest) = drawn.panels[0].body.split_once(&format!("<path class=\"line {class}\" d=\""))?;
    rest.split('"').next()
}

/// The class of a variant in the legend.
fn class(drawn: &Drawn, name: &str) -> String {
    drawn.legend.iter().find(|(_, of)| of == name).expect("the legend names it").0.clone()
}

#[test]
fn the_sum_of_two_variants_is_a_line_where_a_variant_with_that_value_is() {
    let with = drawn("x = \"buffer\"\nsum = [\"minrtt\", \"blest\"]\n", &[2.0, 3.0, 5.0]);
    assert!(line(&with, &class(&with, "redundant")).is_some());
    assert_eq!(line(&with, "sum"), line(&with, &class(&with, "redundant")), "2 and 3 are 5");
    assert!(plot::svg(&with).is_some_and(|svg| svg.contains(">the sum of minrtt and blest</text>")));
    assert_eq!(line(&drawn("x = \"buffer\"\n", &[2.0, 3.0, 5.0]), "sum"), None);
}

#[test]
fn boxes_of_the_seeds_have_a_panel_for_each_point() {
    let panels = |figure: &str| -> Vec<(String, usize)> {
        let drawn = drawn(figure, &[2.0, 3.0, 5.0]);
        drawn.panels.iter().map(|panel| (panel.title.clone(), panel.values)).collect()
    };
    assert_eq!(panels("form = \"boxes\"\n"), [(String::new(), 3 * 2)], "three variants at two points");
    let of = |buffer: &str| (format!("buffer {buffer}"), 3 * 2);
    assert_eq!(
        panels("form = \"boxes\"\nsample = \"seeds\"\n"),
        [of("40"), of("100")],
        "three variants with two seeds"
    );
}

#[test]
fn what_the_source_prints_is_drawn_beside_ours() {
    let sweep = testing::sweep(PLAN);
    let record = |run: usize| testing::record(&sweep, run, Status::Completed, 5.0);
    let records: Vec<Record> = (0..sweep.len()).map(record).collect();
    let drawn = plot::draw(&sweep, &Results::new(&sweep, &records), &sweep.plan.figures[0]);
    let svg = plot::svg(&drawn).expect("it has values");
    assert_eq!(svg.matches("<title>blest, 100, in the source: 6.00</title>").count(), 1, "{svg}");
    assert_eq!(svg.matches(", in the source: ").count(), 1, "only where it is printed");
    assert!(svg.contains(">in the source</text>"), "the legend names it");
}

#[test]
fn sizes_with_a_unit_are_in_their_order_on_the_axis() {
    let plan = PLAN
        .replace("[40, 100]", "[\"200KB\", \"50KB\", \"100KB\"]")
        .replace("\"{}KB\"", "\"{}\"")
        .replace("buffer = 100", "buffer = \"100KB\"")
        .replace("form = \"bars\"\n", "");
    let sweep = testing::sweep(&plan);
    let record = |run: usize| testing::record(&sweep, run, Status::Completed, 5.0);
    let records: Vec<Record> = (0..sweep.len()).map(record).collect();
    let drawn = plot::draw(&sweep, &Results::new(&sweep, &records), &sweep.plan.figures[0]);
    let place = |label: &str| -> f64 {
        let (before, _) = drawn.panels[0].body.split_once(&format!(">{label}</text>")).expect("the axis has the label");
        let (_, from) = before.rsplit_once("<text x=\"").expect("the label has a place");
        from.split('"').next().and_then(|x| x.parse().ok()).expect("a number")
    };
    let (left, middle, right) = (place("50KB"), place("100KB"), place("200KB"));
    assert!(((middle - left) * 3.0 - (right - left)).abs() < 0.5, "{left}, {middle}, {right}");
}

#[test]
fn a_scheduler_has_one_colour_in_all_figures_of_a_plan() {
    let (all, two) =
        (drawn("x = \"buffer\"\n", &[2.0, 3.0, 5.0]), "x = \"buffer\"\nvariants = [\"redundant\", \"blest\"]\n");
    let two = drawn(two, &[2.0, 3.0, 5.0]);
    assert_eq!(two.legend[2], ("band".into(), "95 % interval of the mean".into()), "{:?}", two.legend);
    for name in ["redundant", "blest"] {
        assert_eq!(class(&two, name), class(&all, name));
        assert_eq!(line(&two, &class(&two, name)), line(&all, &class(&all, name)), "{name}");
    }
}

#[test]
fn schedulers_of_one_colour_differ_in_bars_and_boxes() {
    let shared = testing::sweep(&PLAN.replace("\"redundant\"", "\"fps-daf\""));
    let record = |run: usize| testing::record(&shared, run, Status::Completed, 3.0);
    let records: Vec<Record> = (0..shared.len()).map(record).collect();
    let bars = plot::draw(&shared, &Results::new(&shared, &records), &shared.plan.figures[0]);
    let of = |name: &str| {
        let (before, _) = bars.panels[0].body.split_once(&format!("<title>{name}, ")).expect("it has a bar");
        before.rsplit_once("<rect class=\"").and_then(|(_, rest)| rest.split('"').next()).map(str::to_owned)
    };
    assert_eq!(of("blest").as_deref(), Some("column f1"));
    assert_eq!(of("fps-daf").as_deref(), Some("column open v1 dash1 f1"));
}
