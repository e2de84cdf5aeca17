-- True if the preview computes what removing the binding would do.
ALTER TABLE members.binding_previews ADD COLUMN is_removal boolean NOT NULL DEFAULT false;
