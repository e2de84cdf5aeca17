-- The name stays, because the previous release uses it in ON CONFLICT.
ALTER TABLE bindings.bindings DROP CONSTRAINT bindings_identical;
ALTER TABLE bindings.bindings ADD CONSTRAINT bindings_identical UNIQUE USING INDEX bindings_distinct;
