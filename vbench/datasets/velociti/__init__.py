"""VELOCITI's released v1 data: layout, reader, writer and the human subset."""
