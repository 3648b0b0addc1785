"""What everything stands on: errors, formulas, fields, files, arrays, channels."""
