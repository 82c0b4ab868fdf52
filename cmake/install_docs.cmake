# SPDX-License-Identifier: Apache-2.0
# Installs README, changelog, licence and the pages of docs/. A link to a part of the source that is not
# installed becomes a text with its path, since it would lead nowhere.

set(not_installed abi bench bindings conformance examples facts include packaging src tests tool tools
  CONTRIBUTING[.]md SECURITY[.]md)
list(JOIN not_installed "|" not_installed)

# Writes the page `name`, whose links to the root of the source begin with `up`, to the build folder.
function(dlbridge_page name up)
  file(READ ${PROJECT_SOURCE_DIR}/${name} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name})
  string(REGEX REPLACE "\\[([^]]+)\\]\\(${up}((${not_installed})[^)]*)\\)" "\\1 (`\\2` in the source)"
    text "${text}")
  file(WRITE ${PROJECT_BINARY_DIR}/installed_docs/${name} "${text}")
endfunction()

file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/installed_docs)
dlbridge_page(README.md "")
dlbridge_page(CHANGELOG.md "")
file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/docs/*.md)
foreach(page IN LISTS pages)
  dlbridge_page(${page} "[.][.]/")
endforeach()
foreach(folder IN ITEMS concepts guides start)
  file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/docs/${folder}/*.md)
  foreach(page IN LISTS pages)
    dlbridge_page(${page} "[.][.]/[.][.]/")
  endforeach()
endforeach()

# Not DOCDIR, which may belong to a project that includes this one.
set(folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/dlbridge)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${folder} COMPONENT documentation)
install(DIRECTORY ${PROJECT_BINARY_DIR}/installed_docs/ DESTINATION ${folder}
  COMPONENT documentation)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs
  DESTINATION ${folder}
  COMPONENT documentation
  FILES_MATCHING PATTERN "*.svg" PATTERN "site" EXCLUDE)
if(DLBRIDGE_SITE)
  install(DIRECTORY ${DLBRIDGE_SITE}/ DESTINATION ${folder}/html COMPONENT documentation)
endif()
