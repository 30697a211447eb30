// Addresses are relative to the page, so that they hold below any prefix of a web server before us.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  // The validator is a server of somebody else.
  validatorUrl: null,
});
