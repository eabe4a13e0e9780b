//! Named columns, one after another, as a record batch.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use std::sync::Arc;

/// The columns of a table so far.
#[derive(Default)]
pub(crate) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    /// Returns a column whose every row has a value.
    pub(crate) fn with(self, name: &str, values: impl Array + 'static) -> Self {
        self.column(name, Arc::new(values), false)
    }

    /// Returns a column some of whose rows may have none.
    pub(crate) fn with_some(self, name: &str, values: impl Array + 'static) -> Self {
        self.column(name, Arc::new(values), true)
    }

    fn column(mut self, name: &str, values: ArrayRef, nullable: bool) -> Self {
        self.fields.push(Field::new(name, values.data_type().clone(), nullable));
        self.arrays.push(values);
        self
    }

    /// Returns the table. Its columns must be equally long.
    pub(crate) fn batch(self) -> RecordBatch {
        let schema: SchemaRef = Arc::new(Schema::new(self.fields));
        RecordBatch::try_new(schema, self.arrays).expect("columns are made from one list of rows")
    }
}
