//! Writes a sweep's runs as a Parquet file, behind the feature `parquet`.
//!
//! Each row is a run, in the order of the runs. Names and types of the columns are those of
//! `pathweave_experiments::columns`. A cell without a value is null. The file has one group of rows and no compression,
//! so equal runs give equal bytes.

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use pathweave_experiments::columns::{Cells, columns};
use pathweave_experiments::plan::Plan;
use pathweave_experiments::record::Record;
use pathweave_runner::Failure;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Writes the runs of a plan.
pub(crate) fn write(path: &Path, plan: &Plan, records: &[Record]) -> Result<(), Failure> {
    let wrong = |e: ParquetError| Failure::Output(format!("{}: {e}", path.display()));
    let file = File::create(path).map_err(Failure::writing(path.display()))?;
    rows(file, &columns(plan, records)).map_err(wrong)
}

fn rows(file: File, columns: &[(String, Cells)]) -> Result<(), ParquetError> {
    let mut fields = Vec::new();
    for (name, cells) in columns {
        let (physical, converted) = match cells {
            Cells::Seed(_) => (Physical::INT64, ConvertedType::UINT_64),
            Cells::Whole(_) => (Physical::INT64, ConvertedType::NONE),
            Cells::Number(_) => (Physical::DOUBLE, ConvertedType::NONE),
            Cells::Truth(_) => (Physical::BOOLEAN, ConvertedType::NONE),
            Cells::Word(_) | Cells::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        fields.push(Arc::new(field.with_converted_type(converted).build()?));
    }
    let schema = Arc::new(Type::group_type_builder("run").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default()))?;
    let mut group = writer.next_row_group()?;
    for (_, cells) in columns {
        let Some(mut out) = group.next_column()? else { break };
        match cells {
            // Parquet's unsigned numbers have the bits of signed ones.
            Cells::Seed(values) => put::<Int64Type, _>(&mut out, values, |x| x.cast_signed())?,
            Cells::Whole(values) => put::<Int64Type, _>(&mut out, values, |x| *x)?,
            Cells::Number(values) => put::<DoubleType, _>(&mut out, values, |x| *x)?,
            Cells::Truth(values) => put::<BoolType, _>(&mut out, values, |x| *x)?,
            Cells::Word(values) | Cells::Text(values) => {
                put::<ByteArrayType, _>(&mut out, values, |x| ByteArray::from(x.as_str()))?
            }
        };
        out.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn put<T: DataType, V>(
    out: &mut SerializedColumnWriter<'_>,
    cells: &[Option<V>],
    of: impl Fn(&V) -> T::T,
) -> Result<usize, ParquetError> {
    let values: Vec<T::T> = cells.iter().flatten().map(of).collect();
    let there: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    out.typed::<T>().write_batch(&values, Some(&there), None)
}

#[cfg(test)]
mod tests {
    use super::{Cells, rows};
    use parquet::basic::ConvertedType;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use std::fs::File;

    #[test]
    fn a_reader_finds_every_type_and_what_is_missing() {
        let path = std::env::temp_dir().join(format!("pathweave-{}.parquet", std::process::id()));
        let word = |text: &str| Some(text.to_owned());
        let columns = [
            ("seed", Cells::Seed(vec![Some(0), Some(u64::MAX)])),
            ("at_buffer_kb", Cells::Whole(vec![Some(200), Some(-50)])),
            ("at_pr", Cells::Truth(vec![Some(true), Some(false)])),
            ("at_congestion", Cells::Word(vec![word("reno"), None])),
            ("goodput_mbps", Cells::Number(vec![None, Some(7.25)])),
        ]
        .map(|(name, cells)| (name.to_owned(), cells));
        rows(File::create(&path).expect("it can be made"), &columns).expect("it can be written");
        let reader = SerializedFileReader::new(File::open(&path).expect("it is there")).expect("it is Parquet");
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let found: Vec<_> = reader.get_row_iter(None).expect("it has rows").map(|r| r.expect("a row")).collect();
        let _ = std::fs::remove_file(&path);
        assert_eq!(schema.column(0).converted_type(), ConvertedType::UINT_64);
        let names: Vec<String> = schema.columns().iter().map(|column| column.name().to_owned()).collect();
        assert!(names.iter().eq(columns.iter().map(|(name, _)| name)));
        assert_eq!((found[1].get_ulong(0).ok(), found[1].get_long(1).ok()), (Some(u64::MAX), Some(-50)));
        assert_eq!((found[0].get_bool(2).ok(), found[0].get_string(3).ok().cloned()), (Some(true), word("reno")));
        assert!(found[1].get_string(3).is_err(), "a word that a run does not have is null");
        assert!(found[0].get_double(4).is_err(), "a metric that a run does not have is null");
        assert_eq!(found[1].get_double(4).ok(), Some(7.25));
    }
}
