//! Writes a sweep's runs as a Parquet file, behind the feature `parquet`.
//!
//! Each row is a run, in the order of the runs. The columns are those of a line of `runs.jsonl`: parameters as
//! `point.NAME`, metrics as `metrics.NAME`. A metric that a run does not have is null. The file has one group of rows
//! and no compression, so equal runs give equal bytes.

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use pathweave_experiments::record::Record;
use pathweave_lab::results::Status;
use pathweave_runner::Failure;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A column's values.
enum Column {
    Numbers(Vec<i64>),
    Texts(Vec<ByteArray>),
    /// The values that exist, and for each row whether it has one.
    Metrics(Vec<f64>, Vec<i16>),
}

/// Writes the runs.
pub(crate) fn write(path: &Path, records: &[Record]) -> Result<(), Failure> {
    let wrong = |e: ParquetError| Failure::Output(format!("{}: {e}", path.display()));
    let file = File::create(path).map_err(Failure::writing(path.display()))?;
    rows(file, &columns(records)).map_err(wrong)
}

fn columns(records: &[Record]) -> Vec<(String, Column)> {
    let texts = |of: &dyn Fn(&Record) -> &str| Column::Texts(records.iter().map(|r| ByteArray::from(of(r))).collect());
    let parameters: BTreeSet<&String> = records.iter().flat_map(|r| r.point.keys()).collect();
    let metrics: BTreeSet<&String> = records.iter().flat_map(|r| r.metrics.keys()).collect();
    let numbers = |of: &dyn Fn(&Record) -> i64| Column::Numbers(records.iter().map(of).collect());
    let mut all = vec![
        ("run".to_owned(), numbers(&|r| i64::try_from(r.run).unwrap_or(i64::MAX))),
        ("scenario".to_owned(), texts(&|r| &r.scenario)),
    ];
    for name in parameters {
        all.push((format!("point.{name}"), texts(&|r| r.point.get(name).map_or("", String::as_str))));
    }
    all.extend([
        ("variant".to_owned(), texts(&|r| &r.variant)),
        ("seed".to_owned(), numbers(&|r| i64::try_from(r.seed).unwrap_or(i64::MAX))),
        ("status".to_owned(), texts(&|r| status(r.status))),
        ("reason".to_owned(), texts(&|r| r.reason.as_deref().unwrap_or_default())),
        ("digest".to_owned(), texts(&|r| &r.digest)),
    ]);
    for name in metrics {
        let values = records.iter().filter_map(|r| r.metrics.get(name).copied()).collect();
        let there = records.iter().map(|r| i16::from(r.metrics.contains_key(name))).collect();
        all.push((format!("metrics.{name}"), Column::Metrics(values, there)));
    }
    all
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Stalled => "stalled",
        Status::Failed => "failed",
    }
}

fn rows(file: File, columns: &[(String, Column)]) -> Result<(), ParquetError> {
    let mut fields = Vec::new();
    for (name, column) in columns {
        let (physical, repetition, converted) = match column {
            Column::Numbers(_) => (Physical::INT64, Repetition::REQUIRED, ConvertedType::NONE),
            Column::Texts(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED, ConvertedType::UTF8),
            Column::Metrics(..) => (Physical::DOUBLE, Repetition::OPTIONAL, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        fields.push(Arc::new(field.with_converted_type(converted).build()?));
    }
    let schema = Arc::new(Type::group_type_builder("run").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default()))?;
    let mut group = writer.next_row_group()?;
    for (_, column) in columns {
        let Some(mut out) = group.next_column()? else { break };
        put(&mut out, column)?;
        out.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn put(out: &mut SerializedColumnWriter<'_>, column: &Column) -> Result<usize, ParquetError> {
    match column {
        Column::Numbers(values) => out.typed::<Int64Type>().write_batch(values, None, None),
        Column::Texts(values) => out.typed::<ByteArrayType>().write_batch(values, None, None),
        Column::Metrics(values, there) => out.typed::<DoubleType>().write_batch(values, Some(there), None),
    }
}

#[cfg(test)]
mod tests {
    use super::write;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use pathweave_experiments::record::Record;
    use pathweave_lab::results::Status;
    use std::fs::File;

    fn record(run: usize, goodput: Option<f64>) -> Record {
        Record {
            run,
            scenario: "s".into(),
            point: [("buffer".to_owned(), "40KB".to_owned())].into(),
            variant: "minrtt".into(),
            seed: 1 + run as u64,
            status: Status::Completed,
            reason: None,
            digest: "abc".into(),
            metrics: goodput.map(|g| ("goodput_mbps".to_owned(), g)).into_iter().collect(),
        }
    }

    #[test]
    fn a_reader_finds_each_run_and_what_it_lacks() {
        let path = std::env::temp_dir().join(format!("pathweave-{}.parquet", std::process::id()));
        write(&path, &[record(0, Some(7.25)), record(1, None)]).expect("it can be written");
        let reader = SerializedFileReader::new(File::open(&path).expect("it is there")).expect("it is Parquet");
        let rows: Vec<_> = reader.get_row_iter(None).expect("it has rows").map(|r| r.expect("a row")).collect();
        let _ = std::fs::remove_file(&path);
        let names: Vec<String> = rows[0].get_column_iter().map(|(name, _)| name.clone()).collect();
        let expected = [
            "run",
            "scenario",
            "point.buffer",
            "variant",
            "seed",
            "status",
            "reason",
            "digest",
            "metrics.goodput_mbps",
        ];
        assert_eq!(names, expected);
        assert_eq!((rows.len(), rows[1].get_long(0).ok(), rows[1].get_long(4).ok()), (2, Some(1), Some(2)));
        assert_eq!(rows[0].get_string(2).map(String::as_str).ok(), Some("40KB"));
        assert_eq!(rows[0].get_double(8).ok(), Some(7.25));
        assert!(rows[1].get_double(8).is_err(), "a metric that a run does not have is null");
    }
}
