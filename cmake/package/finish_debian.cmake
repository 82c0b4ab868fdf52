# SPDX-License-Identifier: Apache-2.0
# Run by cpack after it has made the Debian packages: what lintian rejects and no option of cpack changes.

# cpack adds scripts that call ldconfig to every package with a library; the trigger does that already.
function(remove_scripts folder)
  file(REMOVE ${folder}/DEBIAN/postinst ${folder}/DEBIAN/postrm)
endfunction()

# cpack's package of debug information has no documents, and its checksums name the build's folders.
function(complete_debug_package folder package)
  string(REPLACE "-dbgsym" "" documented ${package})
  file(MAKE_DIRECTORY ${folder}/usr/share/doc)
  file(CREATE_LINK ${documented} ${folder}/usr/share/doc/${package} SYMBOLIC)
  file(GLOB_RECURSE files RELATIVE ${folder} ${folder}/usr/lib/*)
  set(sums)
  foreach(file IN LISTS files)
    file(CHMOD ${folder}/${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    file(MD5 ${folder}/${file} sum)
    string(APPEND sums "${sum}  ${file}\n")
  endforeach()
  file(WRITE ${folder}/DEBIAN/md5sums "${sums}")
endfunction()

foreach(file IN LISTS CPACK_PACKAGE_FILES)
  get_filename_component(name ${file} NAME)
  string(REGEX REPLACE "_.*" "" package ${name})
  set(folder ${file}.unpacked)
  execute_process(COMMAND dpkg-deb --raw-extract ${file} ${folder} COMMAND_ERROR_IS_FATAL ANY)
  remove_scripts(${folder})
  if(package MATCHES "-dbgsym$")
    complete_debug_package(${folder} ${package})
  endif()
  execute_process(COMMAND dpkg-deb --root-owner-group --build ${folder} ${file}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${folder})
endforeach()
