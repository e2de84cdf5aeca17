// Validates the document with swagger-parser, which resolves every reference.
import SwaggerParser from '@apidevtools/swagger-parser';

await SwaggerParser.validate('build/openapi.json');
