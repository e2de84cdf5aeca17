ALTER TABLE bindings.bindings VALIDATE CONSTRAINT bindings_type_fields;
ALTER TABLE bindings.bindings VALIDATE CONSTRAINT bindings_conditions;
ALTER TABLE bindings.bindings VALIDATE CONSTRAINT bindings_authority;
ALTER TABLE bindings.bindings VALIDATE CONSTRAINT bindings_member_template;
