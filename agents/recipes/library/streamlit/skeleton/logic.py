"""What __NAME__ computes: functions of plain values, without Streamlit."""
