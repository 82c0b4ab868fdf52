# SPDX-License-Identifier: Apache-2.0
# Installs the component `tools`: the program dlbridge, its manual page, and completions for shells.
# tool/generated has the texts that the program writes; a test compares them with what it writes.

set(component COMPONENT tools)
install(TARGETS dlbridge_tool RUNTIME ${component})
# An installation can be moved as a whole: the library is found relative to the program. Debian's
# packages install into the loader's own folders.
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH library /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
  if(APPLE)
    set(origin @loader_path)
  else()
    set(origin $ORIGIN)
  endif()
  set_target_properties(dlbridge_tool PROPERTIES INSTALL_RPATH "${origin}/${library}")
endif()
set(generated ${PROJECT_SOURCE_DIR}/tool/generated)
set(share ${CMAKE_INSTALL_DATAROOTDIR})
install(FILES ${generated}/dlbridge.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 ${component})
install(FILES ${generated}/dlbridge.bash
  DESTINATION ${share}/bash-completion/completions RENAME dlbridge ${component})
install(FILES ${generated}/dlbridge.zsh
  DESTINATION ${share}/zsh/site-functions RENAME _dlbridge ${component})
install(FILES ${generated}/dlbridge.fish
  DESTINATION ${share}/fish/vendor_completions.d ${component})
